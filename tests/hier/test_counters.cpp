// SPDX-License-Identifier: BSD-3-Clause
// Counters, in several worlds over the sim transport: what crosses between nodes is what must, for any shape; where it goes is told
// apart; and all that the transport carries is counted.
#include "effort.h"
#include "sim_worlds.h"
#include "traffic.h"

#include <map>
#include <mutex>
#include <thread>
#include <unistd.h>

namespace {

void add(weft_traffic &sum, const weft_traffic &after, const weft_traffic &before) {
    sum.messages += after.messages - before.messages;
    sum.bytes += after.bytes - before.bytes;
}

void add(weft_counters &sum, const weft_counters &after, const weft_counters &before) {
    for (int row = 0; row < WEFT_COUNTED_ROWS; row++) {
        const weft_counter_row &a = after.rows[row], &b = before.rows[row];
        sum.rows[row].operations += a.operations - b.operations;
        add(sum.rows[row].inside, a.inside, b.inside);
        add(sum.rows[row].on_host, a.on_host, b.on_host);
        add(sum.rows[row].between_hosts, a.between_hosts, b.between_hosts);
        sum.rows[row].waited_seconds += a.waited_seconds - b.waited_seconds;
    }
}

// In place of bytes that are not counted: what is read is, and what is carried instead is not.
constexpr size_t reads = SIZE_MAX;

// The sums over all processes of what `body` counts. Every other process is on the same host. All that is carried but `uncounted` bytes
// is counted.
weft_counters count(const JobShape &shape, const std::function<void(weft_comm *)> &body, size_t uncounted = 0) {
    SimWorlds worlds(shape);
    weft_counters sum{}, everything{};
    std::mutex lock;
    worlds.run_processes([&](int rank, hier_world *world) {
        for (int other = 0; other < int(shape.threads.size()); other++)
            world->observation.on_host[other] = other % 2 == rank % 2;
        weft_team *team = nullptr;
        ASSERT_EQ(weft_team_create(world->process_comm, shape.threads[size_t(rank)], &team), WEFT_SUCCESS);
        weft_counters before, after;
        hier_counters_sum(world, &before);
        worlds.run_team(team, body);
        hier_counters_sum(world, &after);
        EXPECT_EQ(weft_team_free(&team), WEFT_SUCCESS);
        std::lock_guard<std::mutex> guard(lock);
        add(sum, after, before);
        add(everything, after, weft_counters{});
    });
    inter_sim_counts carried = worlds.counts();
    uint64_t messages = 0, bytes = 0;
    for (int row = 0; row < WEFT_COUNTED_MESSAGES; row++) {
        messages += everything.rows[row].on_host.messages + everything.rows[row].between_hosts.messages;
        bytes += everything.rows[row].on_host.bytes + everything.rows[row].between_hosts.bytes;
    }
    if (!everything.rows[WEFT_COUNTED_MESSAGES].operations && uncounted != reads) {
        EXPECT_EQ(messages, carried.messages);
        EXPECT_EQ(bytes + uncounted, carried.bytes);
    }
    return sum;
}

bool nothing(const weft_counter_row &row) {
    return !row.operations && !row.inside.messages && !row.on_host.messages && !row.between_hosts.messages;
}

// Whether this machine has fewer cores than the job has threads.
bool is_crowded(const JobShape &shape) {
    static std::map<int, bool> known; // by ranks
    auto found = known.find(shape.ranks());
    if (found != known.end())
        return found->second;
    bool &crowded = known[shape.ranks()];
    SimWorlds(shape).run([&](weft_comm *comm) {
        if (weft_rank(comm) == 0)
            crowded = comm->layout->crowded;
    });
    return crowded;
}

inter_algorithm chosen(const JobShape &shape, inter_collective kind, size_t bytes) {
    hier_selector selector;
    EXPECT_EQ(hier_selector_init(&selector, shape.algorithm.c_str()), WEFT_SUCCESS);
    hier_key key = traffic::Nodes{shape.threads}.key_of(kind, bytes);
    key.crowded = is_crowded(shape);
    return *hier_select(&selector, key).process;
}

const std::vector<size_t> lengths =
    effort::sanitized ? std::vector<size_t>{600} : std::vector<size_t>{8, 2048}; // in words

class Counters : public ::testing::TestWithParam<std::vector<int>> {};

} // namespace

TEST_P(Counters, WhatCrossesIsWhatMust) {
    threads::Watchdog watchdog(280);
    traffic::Nodes nodes{GetParam()};
    JobShape shape{GetParam()};
    // Those that move the least in all; the rules also take others, in which a process moves less.
    shape.algorithm = "reduce=MST,reduce_scatter=nbBKT,reduce_scatter_block=nbBKT,alltoallv=/flags,alltoallw=/flags,"
                      "gather=/flags,gatherv=/flags,scatterv=/flags";
    const size_t times = std::size(traffic::forms), ranks = size_t(shape.ranks());
    for (inter_collective kind : traffic::kinds)
        for (size_t words : lengths)
            for (int root : {0, shape.ranks() - 1}) {
                weft_counters sum = count(
                    shape,
                    [&](weft_comm *comm) {
                        for (traffic::Form form : traffic::forms)
                            traffic::perform(comm, kind, words, root, form);
                    },
                    times * traffic::lengths_between(nodes, kind));
                const weft_counter_row &row = sum.rows[kind];
                inter_algorithm algorithm = chosen(shape, kind, words * 8);
                size_t between = traffic::bytes_between(nodes, kind, words, root, algorithm);
                std::string what = std::string(weft_counted_name(weft_counted(kind))) + ", " + std::to_string(words) +
                                   " words, root " + std::to_string(root);
                EXPECT_EQ(row.operations, times * ranks) << what;
                EXPECT_EQ(row.on_host.bytes + row.between_hosts.bytes, times * between) << what;
                EXPECT_EQ(row.inside.bytes, times * traffic::bytes_inside(nodes, kind, words, root)) << what;
                for (int other = 0; other < WEFT_COUNTED_ROWS; other++)
                    EXPECT_TRUE(other == int(kind) || nothing(sum.rows[other])) << what << ", " << other;
                ASSERT_FALSE(HasFailure());
            }
}

// What threads read straight from other processes is counted as if it were sent, a message from each process to each.
TEST_P(Counters, WhatIsReadIsCounted) {
    threads::Watchdog watchdog(280);
    traffic::Nodes nodes{GetParam()};
    JobShape shape{GetParam()};
    shape.algorithm = "allgather=/direct,allgatherv=/direct,alltoall=/direct,alltoallv=/direct,alltoallw=/direct,"
                      "gather=/direct,gatherv=/direct,scatter=/direct,scatterv=/direct";
    const size_t times = std::size(traffic::forms);
    for (inter_collective kind : {INTER_ALLGATHER, INTER_ALLGATHERV, INTER_ALLTOALL, INTER_ALLTOALLV, INTER_ALLTOALLW,
                                  INTER_GATHER, INTER_GATHERV, INTER_SCATTER, INTER_SCATTERV})
        for (size_t words : lengths) {
            weft_counters sum = count(
                shape,
                [&](weft_comm *comm) {
                    for (traffic::Form form : traffic::forms)
                        traffic::perform(comm, kind, words, 0, form);
                },
                reads);
            const weft_counter_row &row = sum.rows[kind];
            size_t between = traffic::bytes_between(nodes, kind, words, 0, chosen(shape, kind, words * 8));
            size_t processes = nodes.threads.size(),
                   pairs = inter_is(kind, INTER_GATHERS | INTER_SCATTERS) ? processes - 1 : processes * (processes - 1);
            EXPECT_EQ(row.on_host.bytes + row.between_hosts.bytes, times * between) << words << " words of " << kind;
            EXPECT_LE(row.on_host.messages + row.between_hosts.messages, times * pairs)
                << words << " words of " << kind;
            EXPECT_EQ(row.inside.bytes, times * traffic::bytes_inside(nodes, kind, words, 0))
                << words << " words of " << kind;
        }
}

// An allreduce by other algorithms costs what these cost.
TEST_P(Counters, AllreduceIsTheAlgorithms) {
    threads::Watchdog watchdog(280);
    traffic::Nodes nodes{GetParam()};
    for (const char *name : {"nbBDE", "RAB", "BKT", "nbFT", "MSTReduce+MSTBcast"}) {
        JobShape shape{GetParam()};
        shape.algorithm = std::string("allreduce=") + name;
        weft_counters sum = count(shape, [](weft_comm *comm) { traffic::perform(comm, INTER_ALLREDUCE, 60 * 16, 0); });
        const weft_counter_row &row = sum.rows[WEFT_COUNTED_ALLREDUCE];
        EXPECT_EQ(row.on_host.bytes + row.between_hosts.bytes,
                  traffic::bytes_between(nodes, INTER_ALLREDUCE, 60 * 16, 0, chosen(shape, INTER_ALLREDUCE, 7680)))
            << name;
    }
}

INSTANTIATE_TEST_SUITE_P(Sim, Counters,
                         ::testing::Values(std::vector<int>{4}, std::vector<int>{2, 2}, std::vector<int>{2, 2, 2},
                                           std::vector<int>{1, 3, 2}, std::vector<int>{1, 1, 1, 1, 1},
                                           std::vector<int>{4, 1}));

// alltoall: each pair of nodes exchanges one message, and processes 0 and 2 are on one host, 1 on another.
TEST(CountersOfHosts, AreToldApart) {
    threads::Watchdog watchdog(280);
    weft_counters sum =
        count(JobShape{{2, 1, 3}}, [](weft_comm *comm) { traffic::perform(comm, INTER_ALLTOALL, 5, 0); });
    const weft_counter_row &row = sum.rows[WEFT_COUNTED_ALLTOALL];
    EXPECT_EQ(row.on_host.messages, 2u);
    EXPECT_EQ(row.on_host.bytes, 2u * 2 * 3 * 40);
    EXPECT_EQ(row.between_hosts.messages, 4u);
    EXPECT_EQ(row.between_hosts.bytes, 2u * (2 * 1 + 1 * 3) * 40);
}

TEST(CountersOfMessages, AreCountedWhereTheyAreSent) {
    threads::Watchdog watchdog(280);
    for (size_t bytes : {size_t(0), size_t(8), size_t(100000)}) {
        // Ranks 0, 1 | 2 | 3, 4, 5: to the next one but two.
        weft_counters sum = count(JobShape{{2, 1, 3}}, [&](weft_comm *comm) {
            std::vector<char> out(bytes), in(bytes);
            int rank = weft_rank(comm), size = weft_size(comm);
            weft_request *request = nullptr;
            EXPECT_EQ(weft_irecv(in.data(), bytes, WEFT_BYTE, WEFT_ANY_SOURCE, 1, comm, &request), WEFT_SUCCESS);
            EXPECT_EQ(weft_send(out.data(), bytes, WEFT_BYTE, (rank + 2) % size, 1, comm), WEFT_SUCCESS);
            EXPECT_EQ(weft_wait(&request, WEFT_STATUS_IGNORE), WEFT_SUCCESS);
            // Another to the neighbour: nonblocking.
            EXPECT_EQ(weft_isend(out.data(), bytes, WEFT_BYTE, (rank + 1) % size, 2, comm, &request), WEFT_SUCCESS);
            EXPECT_EQ(weft_recv(in.data(), bytes, WEFT_BYTE, WEFT_ANY_SOURCE, 2, comm, WEFT_STATUS_IGNORE),
                      WEFT_SUCCESS);
            EXPECT_EQ(weft_wait(&request, WEFT_STATUS_IGNORE), WEFT_SUCCESS);
        });
        const weft_counter_row &row = sum.rows[WEFT_COUNTED_MESSAGES];
        EXPECT_EQ(row.operations, 12u);
        EXPECT_EQ(row.inside.messages, 1u + 3);        // 3→5; 0→1, 3→4, 4→5
        EXPECT_EQ(row.on_host.messages, 3u + 1);       // 1→3, 4→0, 5→1; 5→0
        EXPECT_EQ(row.between_hosts.messages, 2u + 2); // 0→2, 2→4; 1→2, 2→3
        EXPECT_EQ(row.inside.bytes, 4 * bytes);
        EXPECT_EQ(row.on_host.bytes, 4 * bytes);
        EXPECT_EQ(row.between_hosts.bytes, 4 * bytes);
    }
}

// Communicators of processes 1, 2 and 3, whose nodes have other numbers than the processes: 1 and 3 are on one host.
TEST(CountersOfMessages, GoByTheProcessesOfACommunicatorThatWasSplit) {
    threads::Watchdog watchdog(280);
    for (bool of_threads : {true, false})
        for (size_t bytes : {size_t(8), size_t(100000)}) {
            weft_counters sum = count(JobShape{{1, 1, 1, 1}}, [&](weft_comm *comm) {
                weft_comm *parent = of_threads ? comm : comm->world->process_comm, *part = nullptr;
                int rank = weft_rank(parent);
                ASSERT_EQ(weft_comm_split(parent, rank ? 0 : WEFT_COLOR_UNDEFINED, rank, &part), WEFT_SUCCESS);
                if (!part)
                    return;
                std::vector<char> out(bytes), in(bytes);
                int next = weft_rank(part) == 2 ? 0 : weft_rank(part) + 1;
                for (bool waits : {true, false}) {
                    weft_request *requests[2] = {};
                    EXPECT_EQ(weft_irecv(in.data(), bytes, WEFT_BYTE, WEFT_ANY_SOURCE, 1, part, &requests[0]),
                              WEFT_SUCCESS);
                    EXPECT_EQ(waits ? weft_send(out.data(), bytes, WEFT_BYTE, next, 1, part)
                                    : weft_isend(out.data(), bytes, WEFT_BYTE, next, 1, part, &requests[1]),
                              WEFT_SUCCESS);
                    EXPECT_EQ(weft_waitall(waits ? 1 : 2, requests, WEFT_STATUSES_IGNORE), WEFT_SUCCESS);
                }
                EXPECT_EQ(weft_comm_free(&part), WEFT_SUCCESS);
            });
            const weft_counter_row &row = sum.rows[WEFT_COUNTED_MESSAGES];
            std::string what = std::string(of_threads ? "threads, " : "processes, ") + std::to_string(bytes) + " bytes";
            EXPECT_EQ(row.operations, 6u) << what;
            EXPECT_EQ(row.inside.messages, 0u) << what;
            EXPECT_EQ(row.on_host.messages, 2u) << what; // from 3 to 1
            EXPECT_EQ(row.on_host.bytes, 2 * bytes) << what;
            EXPECT_EQ(row.between_hosts.messages, 4u) << what; // from 1 to 2, and on to 3
            EXPECT_EQ(row.between_hosts.bytes, 4 * bytes) << what;
        }
}

namespace {

// On a communicator whose ranks are on nodes 0, 1, 0, 1, or as the team's (0, 0, 1, 1): one call for each root.
weft_counter_row count_of_split(inter_collective kind, bool interleaved, traffic::Form form) {
    weft_counters sum = count(
        JobShape{{2, 2}},
        [&](weft_comm *comm) {
            int rank = weft_rank(comm), key = interleaved ? rank % 2 * 2 + rank / 2 : rank;
            weft_comm *made = nullptr;
            ASSERT_EQ(weft_comm_split(comm, 0, key, &made), WEFT_SUCCESS);
            ASSERT_EQ(made->inner != nullptr, interleaved);
            for (int root = 0; root < 4; root++)
                traffic::perform(made, kind, 9, root, form);
            EXPECT_EQ(weft_comm_free(&made), WEFT_SUCCESS);
        },
        reads);
    return sum.rows[kind];
}

} // namespace

// Each block is as long as its own type says, and one of nothing is none.
TEST(CountersOfBlocks, AreThoseOfTheirTypesAndCounts) {
    threads::Watchdog watchdog(280);
    weft_counters sum = count(JobShape{{3}}, [](weft_comm *comm) {
        const size_t rank = size_t(weft_rank(comm));
        uint64_t out[3] = {}, in[3] = {};
        const weft_datatype *longer = WEFT_UINT64_T, *own = rank ? longer : WEFT_INT; // of what a rank sends
        const weft_datatype *sent[] = {own, own, own}, *received[] = {WEFT_INT, longer, longer};
        const size_t ones[] = {1, 1, 1}, some[] = {rank % 2, 1 - rank % 2, rank % 2}; // to those that are not alike
        const ptrdiff_t displs[] = {0, 1, 2}, bytes[] = {0, 8, 16};
        EXPECT_EQ(weft_alltoallw(out, ones, bytes, sent, in, ones, bytes, received, comm), WEFT_SUCCESS);
        EXPECT_EQ(weft_alltoallv(out, some, displs, WEFT_INT, in, some, displs, WEFT_INT, comm), WEFT_SUCCESS);
        const size_t last[] = {0, 0, 2};
        EXPECT_EQ(weft_allgatherv(out, last[rank], WEFT_INT, in, last, displs, WEFT_INT, comm), WEFT_SUCCESS);
    });
    const weft_traffic &gathered = sum.rows[WEFT_COUNTED_ALLGATHERV].inside;
    EXPECT_EQ(gathered.messages, 2u); // 2→0, 2→1
    EXPECT_EQ(gathered.bytes, 2u * 2 * sizeof(int));
    const weft_traffic &by_types = sum.rows[WEFT_COUNTED_ALLTOALLW].inside;
    EXPECT_EQ(by_types.messages, 6u);
    EXPECT_EQ(by_types.bytes, 2u * (4 + 8 + 8));
    const weft_traffic &by_counts = sum.rows[WEFT_COUNTED_ALLTOALLV].inside;
    EXPECT_EQ(by_counts.messages, 4u); // 0→1, 1→0, 1→2, 2→1
    EXPECT_EQ(by_counts.bytes, 4u * sizeof(int));
}

// A call that fails is one, but what it moved is nobody's.
TEST(CountersOfMismatches, HaveMovedNothing) {
    threads::Watchdog watchdog(280);
    weft_counters sum = count(JobShape{{2}}, [](weft_comm *comm) {
        int one = 1, all = 0;
        EXPECT_EQ(weft_rank(comm) ? weft_barrier(comm) : weft_allreduce(&one, &all, 1, WEFT_INT, WEFT_SUM, comm),
                  WEFT_ERR_MISMATCH);
    });
    EXPECT_EQ(sum.rows[WEFT_COUNTED_ALLREDUCE].operations, 1u);
    EXPECT_EQ(sum.rows[WEFT_COUNTED_ALLREDUCE].inside.messages, 0u);
    EXPECT_EQ(sum.rows[WEFT_COUNTED_ALLREDUCE].inside.bytes, 0u);
}

// Ranks that have places (hier/layout.h) count as those that are in order: in collectives that a split does not call itself.
TEST(CountersOfPlaces, AreThoseOfRanks) {
    threads::Watchdog watchdog(280);
    traffic::Nodes interleaved{{2, 2}, {0, 1, 0, 1}}, in_order{{2, 2}};
    for (inter_collective kind : {INTER_GATHER, INTER_SCATTER, INTER_ALLTOALL, INTER_GATHERV, INTER_SCATTERV,
                                  INTER_ALLGATHERV, INTER_ALLTOALLV, INTER_ALLTOALLW})
        for (traffic::Form form : traffic::forms) {
            const weft_counter_row mixed = count_of_split(kind, true, form), plain = count_of_split(kind, false, form);
            uint64_t expected[2] = {0, 0};
            for (int root = 0; root < 4; root++) {
                expected[0] += traffic::bytes_inside(interleaved, kind, 9, root);
                expected[1] += traffic::bytes_inside(in_order, kind, 9, root);
            }
            std::string what =
                std::string(weft_counted_name(weft_counted(kind))) + ", form " + std::to_string(int(form));
            EXPECT_EQ(mixed.inside.bytes, expected[0]) << what;
            EXPECT_EQ(plain.inside.bytes, expected[1]) << what;
            EXPECT_EQ(mixed.inside.messages, plain.inside.messages) << what;
        }
}

// A rank that comes late makes the others wait: in a collective, and for a message.
TEST(CountersOfWaiting, GrowWhenSomebodyIsLate) {
    threads::Watchdog watchdog(280);
    for (std::vector<int> nodes : {std::vector<int>{2}, std::vector<int>{1, 1}}) {
        double in_barrier = 0, for_message = 0;
        for (int again = 0; again < 5 && !for_message; again++) { // rank 0 may have had no core while it was to wait
            weft_counters sum = count(JobShape{nodes}, [](weft_comm *comm) {
                int rank = weft_rank(comm);
                char byte = 0;
                if (rank)
                    usleep(50000);
                EXPECT_EQ(weft_barrier(comm), WEFT_SUCCESS);
                if (rank)
                    usleep(50000);
                EXPECT_EQ(rank ? weft_send(&byte, 1, WEFT_BYTE, 0, 0, comm)
                               : weft_recv(&byte, 1, WEFT_BYTE, 1, 0, comm, WEFT_STATUS_IGNORE),
                          WEFT_SUCCESS);
            });
            in_barrier = sum.rows[WEFT_COUNTED_BARRIER].waited_seconds;
            for_message = sum.rows[WEFT_COUNTED_MESSAGES].waited_seconds;
        }
        EXPECT_GT(in_barrier, 0);
        EXPECT_GT(for_message, 0);
    }
}

// Threads that come with a rank that was there before go on where it was; others read meanwhile.
TEST(CountersOfThreads, StayWhenThreadsLeave) {
    threads::Watchdog watchdog(280);
    JobShape shape{{3}};
    SimWorlds worlds(shape);
    worlds.run_processes([&](int, hier_world *world) {
        weft_team *team = nullptr;
        ASSERT_EQ(weft_team_create(world->process_comm, 3, &team), WEFT_SUCCESS);
        std::atomic<bool> over{false};
        std::thread reader([&] {
            uint64_t last = 0;
            while (!over) {
                weft_counters counters;
                hier_counters_sum(world, &counters);
                EXPECT_GE(counters.rows[WEFT_COUNTED_BARRIER].operations, last);
                last = counters.rows[WEFT_COUNTED_BARRIER].operations;
                std::this_thread::yield();
            }
        });
        for (int visit = 0; visit < 20; visit++)
            worlds.run_team(team, [](weft_comm *comm) { EXPECT_EQ(weft_barrier(comm), WEFT_SUCCESS); });
        over = true;
        reader.join();
        weft_counters counters;
        hier_counters_sum(world, &counters);
        EXPECT_EQ(counters.rows[WEFT_COUNTED_BARRIER].operations, 60u);
        int observers = 0;
        for (hier_observer *one = world->observation.observers; one; one = one->next)
            observers++;
        EXPECT_EQ(observers, 3);
        EXPECT_EQ(weft_team_free(&team), WEFT_SUCCESS);
    });
}

TEST(CountersOfRows, HaveNames) {
    EXPECT_STREQ(weft_counted_name(WEFT_COUNTED_BARRIER), "barrier");
    EXPECT_STREQ(weft_counted_name(WEFT_COUNTED_EXSCAN), "exscan");
    EXPECT_STREQ(weft_counted_name(WEFT_COUNTED_MESSAGES), "messages");
    EXPECT_EQ(weft_counted_name(WEFT_COUNTED_ROWS), nullptr);
    EXPECT_EQ(weft_counted_name(weft_counted(-1)), nullptr);
}
