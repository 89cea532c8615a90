// SPDX-License-Identifier: BSD-3-Clause
// Communicators that were split and duplicated, in several worlds over the sim transport: every collective on groups of any ranks
// in any order, messages that keep to their communicator, and communicators made by the thousand and by several threads at once.
#include "calls.h"
#include "effort.h"
#include "sim_worlds.h"
#include <algorithm>
#include <map>

namespace {

using Threads = std::vector<int>; // of each process

// What a rank of `ranks` asks for; the same function everywhere, so that every rank knows what must come of it.
struct Wish {
    int color, key;
};
struct Split {
    const char *name;
    Wish (*wish)(int rank, int node, int thread);
};

Wish mixed(int rank, int, int) {
    return {3, int(uint32_t(rank) * 2654435761u >> 8)};
}
Wish backwards(int rank, int, int) {
    return {rank % 2, -rank};
}
Wish equal_keys(int rank, int, int) {
    return {rank % 3, 5};
}
Wish one_thread_of_some(int rank, int node, int thread) {
    return {node % 2 == 0 || thread == 1 ? 0 : WEFT_COLOR_UNDEFINED, (rank * 7) % 5};
}
Wish without_leaders(int rank, int, int thread) {
    return {thread > 0 ? INT32_MAX : -17, (rank * 5) % 7};
}
Wish by_thread(int rank, int, int thread) {
    return {thread, rank % 2 ? INT32_MIN : INT32_MAX};
}
Wish by_node(int rank, int node, int) {
    return {node, -rank};
}
Wish alone(int rank, int, int) {
    return {rank, 0};
}
const Split splits[] = {{"mixed", mixed},
                        {"backwards", backwards},
                        {"equal keys", equal_keys},
                        {"one thread of some", one_thread_of_some},
                        {"without leaders", without_leaders},
                        {"by thread", by_thread},
                        {"by node", by_node},
                        {"alone", alone}};

// The ranks of a job that are in a group, in its order.
std::vector<int> group_of(const Threads &threads, const Split &split, int color) {
    std::vector<std::pair<int, int>> keyed;
    int rank = 0;
    for (int node = 0; node < int(threads.size()); node++)
        for (int thread = 0; thread < threads[size_t(node)]; thread++, rank++) {
            Wish wish = split.wish(rank, node, thread);
            if (wish.color == color)
                keyed.emplace_back(wish.key, rank);
        }
    std::sort(keyed.begin(), keyed.end());
    std::vector<int> group;
    group.reserve(keyed.size());
    for (auto &entry : keyed)
        group.push_back(entry.second);
    return group;
}

// What groups share, by color.
struct Shared {
    std::mutex lock;
    std::map<int, std::atomic<uint64_t>> arrivals;
    std::atomic<uint64_t> *of(int color) {
        std::lock_guard<std::mutex> guard(lock);
        return &arrivals[color];
    }
};

// Every rank sends to every rank; half of the messages are received from anybody, with any tag.
void exchange(weft_comm *comm, int tag) {
    int rank = weft_rank(comm), size = weft_size(comm);
    std::vector<weft_request *> requests(size_t(size), nullptr);
    std::vector<int> sent(size_t(size), 0), seen(size_t(size), 0);
    for (int to = 0; to < size; to++) {
        sent[size_t(to)] = rank * 1000 + to;
        EXPECT_EQ(weft_isend(&sent[size_t(to)], 1, WEFT_INT, to, tag, comm, &requests[size_t(to)]), WEFT_SUCCESS)
            << weft_last_error();
    }
    for (int i = 0; i < size; i++) {
        int got = -1, source = tag % 2 ? i : WEFT_ANY_SOURCE;
        weft_status status{};
        if (i % 3 == 0) {
            EXPECT_EQ(weft_probe(source, WEFT_ANY_TAG, comm, &status), WEFT_SUCCESS);
            source = status.source;
        }
        EXPECT_EQ(weft_recv(&got, 1, WEFT_INT, source, WEFT_ANY_TAG, comm, &status), WEFT_SUCCESS);
        ASSERT_TRUE(status.source >= 0 && status.source < size);
        EXPECT_EQ(status.tag, tag);
        EXPECT_EQ(got, status.source * 1000 + rank);
        seen[size_t(status.source)]++;
    }
    EXPECT_EQ(seen, std::vector<int>(size_t(size), 1));
    EXPECT_EQ(weft_waitall(requests.size(), requests.data(), WEFT_STATUSES_IGNORE), WEFT_SUCCESS);
    EXPECT_EQ(weft_barrier(comm), WEFT_SUCCESS); // under FUNNELED messages move while the leader is in weft
}

void expect_ok(int code) {
    EXPECT_EQ(code, WEFT_SUCCESS) << weft_last_error();
}

// Nonblocking and persistent ones under way at once; odd ranks complete them from the last one on.
void overlap(weft_comm *comm, int round) {
    int rank = weft_rank(comm), size = weft_size(comm), last = size - 1, mine = 100 * round + rank;
    std::vector<int> all(size_t(size), -1), gathered(size_t(size), -1), out(size_t(size), 0), in(size_t(size), -1);
    int told = rank == last ? round : -1, sum = rank + round, part = -1;
    for (int to = 0; to < size; to++)
        out[size_t(to)] = 1000 * rank + to;
    std::vector<weft_request *> r(7, nullptr);
    expect_ok(weft_ibcast(&told, 1, WEFT_INT, last, comm, &r[0]));
    expect_ok(weft_iallreduce(WEFT_IN_PLACE, &sum, 1, WEFT_INT, WEFT_SUM, comm, &r[1]));
    expect_ok(weft_allgather_init(&mine, 1, WEFT_INT, all.data(), 1, WEFT_INT, comm, &r[2]));
    expect_ok(weft_start(&r[2]));
    expect_ok(weft_ialltoall(out.data(), 1, WEFT_INT, in.data(), 1, WEFT_INT, comm, &r[3]));
    expect_ok(weft_igather(&mine, 1, WEFT_INT, gathered.data(), 1, WEFT_INT, last, comm, &r[4]));
    expect_ok(weft_iscatter(out.data(), 1, WEFT_INT, &part, 1, WEFT_INT, last, comm, &r[5]));
    expect_ok(weft_ibarrier(comm, &r[6]));
    for (size_t i = 0; i < r.size(); i++)
        expect_ok(weft_wait(&r[rank % 2 ? r.size() - 1 - i : i], WEFT_STATUS_IGNORE));
    EXPECT_EQ(told, round);
    EXPECT_EQ(sum, size * (size - 1) / 2 + size * round);
    EXPECT_EQ(part, 1000 * last + rank);
    for (int from = 0; from < size; from++) {
        EXPECT_EQ(all[size_t(from)], 100 * round + from);
        EXPECT_EQ(in[size_t(from)], 1000 * from + rank);
        EXPECT_EQ(gathered[size_t(from)], rank == last ? 100 * round + from : -1);
    }
    mine = -rank;
    expect_ok(weft_start(&r[2]));
    expect_ok(weft_waitall(1, &r[2], WEFT_STATUSES_IGNORE));
    for (int from = 0; from < size; from++)
        EXPECT_EQ(all[size_t(from)], -from);
    expect_ok(weft_request_free(&r[2]));
}

// One split, with what must come of it; the leaders that are in no group wait in weft.
void perform_split(weft_comm *world, const JobShape &shape, const Split &split, Shared &shared, size_t calls) {
    int rank = weft_rank(world);
    Wish wish = split.wish(rank, weft_node(world), weft_thread(world));
    weft_comm *comm = nullptr;
    ASSERT_EQ(weft_comm_split(world, wish.color, wish.key, &comm), WEFT_SUCCESS) << weft_last_error();
    ASSERT_EQ(comm != nullptr, wish.color >= 0) << split.name;
    if (comm) {
        std::vector<int> group = group_of(shape.threads, split, wish.color);
        EXPECT_EQ(weft_size(comm), int(group.size())) << split.name;
        EXPECT_EQ(group[size_t(weft_rank(comm))], rank) << split.name;
        Caller caller(comm, shared.of(wish.color));
        for (const Call &call : mixture(weft_size(comm), calls, uint64_t(wish.color) + 3))
            caller.perform(call);
        exchange(comm, 4);
        overlap(comm, 1);
        exchange(comm, 5);
        overlap(comm, 2);
        EXPECT_EQ(weft_comm_free(&comm), WEFT_SUCCESS) << weft_last_error();
        EXPECT_EQ(comm, nullptr);
    }
    EXPECT_EQ(weft_barrier(world), WEFT_SUCCESS);
}

const std::vector<Threads> shapes = {{1}, {4}, {2, 2}, {1, 3, 2}, {2, 2, 2}, {1, 1, 1, 1}, {3, 3, 3}};
const weft_thread_level levels[] = {WEFT_THREAD_FUNNELED, WEFT_THREAD_SERIALIZED, WEFT_THREAD_MULTIPLE};

class Splits : public ::testing::TestWithParam<Threads> {};

} // namespace

TEST_P(Splits, HaveEveryCollectiveAndMessages) {
    threads::Watchdog watchdog(280);
    for (weft_thread_level level : levels) {
        JobShape shape{GetParam(), level};
        SCOPED_TRACE(::testing::Message() << shape);
        Shared shared[std::size(splits)];
        SimWorlds(shape).run([&](weft_comm *world) {
            for (size_t i = 0; i < std::size(splits); i++)
                perform_split(world, shape, splits[i], shared[i], effort::rounds(60));
        });
        ASSERT_FALSE(HasFailure());
    }
}

// Every size, root and in place, where the order of the ranks is nobody's.
TEST_P(Splits, OfMixedRanksAreRight) {
    threads::Watchdog watchdog(280);
    for (weft_thread_level level : {WEFT_THREAD_FUNNELED, WEFT_THREAD_SERIALIZED}) {
        JobShape shape{GetParam(), level};
        std::atomic<uint64_t> arrivals{0};
        SimWorlds(shape).run([&](weft_comm *world) {
            weft_comm *comm = nullptr;
            ASSERT_EQ(weft_comm_split(world, 0, mixed(weft_rank(world), 0, 0).key, &comm), WEFT_SUCCESS);
            Caller caller(comm, &arrivals);
            for (const Call &call : effort::part_of(every_call(shape.ranks()), size_t(level + shape.ranks())))
                caller.perform(call);
            EXPECT_EQ(weft_comm_free(&comm), WEFT_SUCCESS);
        });
        ASSERT_FALSE(HasFailure());
    }
}

namespace {

// A collective that moves nothing, blocking, nonblocking or persistent.
void move_nothing(weft_comm *comm, int kind, int form) {
    const int last = weft_size(comm) - 1;
    weft_request *request = nullptr;
#define NOTHING(name, ...)                                                                                             \
    (form == 0   ? weft_##name(__VA_ARGS__, comm)                                                                      \
     : form == 1 ? weft_i##name(__VA_ARGS__, comm, &request)                                                           \
                 : weft_##name##_init(__VA_ARGS__, comm, &request))
    switch (kind) {
    case 0:
        expect_ok(NOTHING(gather, nullptr, 0, WEFT_INT, nullptr, 0, WEFT_INT, last));
        break;
    case 1:
        expect_ok(NOTHING(scatter, nullptr, 0, WEFT_INT, nullptr, 0, WEFT_INT, last));
        break;
    case 2:
        expect_ok(NOTHING(allgather, nullptr, 0, WEFT_INT, nullptr, 0, WEFT_INT));
        break;
    case 3:
        expect_ok(NOTHING(alltoall, nullptr, 0, WEFT_INT, nullptr, 0, WEFT_INT));
        break;
    case 4:
        expect_ok(NOTHING(bcast, nullptr, 0, WEFT_INT, last));
        break;
    default:
        expect_ok(NOTHING(allreduce, nullptr, nullptr, 0, WEFT_INT, WEFT_SUM));
    }
#undef NOTHING
    if (form == 2)
        expect_ok(weft_start(&request));
    if (form)
        expect_ok(weft_wait(&request, WEFT_STATUS_IGNORE));
    if (form == 2)
        expect_ok(weft_request_free(&request));
}

} // namespace

// Some ranks block where others do not.
TEST_P(Splits, MoveNothingInEitherForm) {
    threads::Watchdog watchdog(280);
    for (weft_thread_level level : {WEFT_THREAD_FUNNELED, WEFT_THREAD_SERIALIZED}) {
        JobShape shape{GetParam(), level};
        SimWorlds(shape).run([&](weft_comm *world) {
            weft_comm *comm = nullptr;
            ASSERT_EQ(weft_comm_split(world, 0, mixed(weft_rank(world), 0, 0).key, &comm), WEFT_SUCCESS);
            for (int kind = 0; kind < 6; kind++) {
                move_nothing(comm, kind, weft_node(comm) % 2);
                move_nothing(comm, kind, weft_rank(comm) % 2);
                move_nothing(comm, kind, 1 - weft_node(comm) % 2);
                move_nothing(comm, kind, 2);
            }
            EXPECT_EQ(weft_barrier(comm), WEFT_SUCCESS);
            EXPECT_EQ(weft_comm_free(&comm), WEFT_SUCCESS);
        });
        ASSERT_FALSE(HasFailure());
    }
}

// Splits of splits, and duplicates of those: each is a communicator like any other, and outlives its parent.
TEST_P(Splits, CanBeSplitAgain) {
    threads::Watchdog watchdog(280);
    for (weft_thread_level level : levels) {
        JobShape shape{GetParam(), level};
        Shared shared[2];
        SimWorlds(shape).run([&](weft_comm *world) {
            weft_comm *first = nullptr, *second = nullptr, *third = nullptr;
            int rank = weft_rank(world);
            ASSERT_EQ(weft_comm_split(world, 0, mixed(rank, 0, 0).key, &first), WEFT_SUCCESS) << weft_last_error();
            int color = weft_rank(first) % 2;
            ASSERT_EQ(weft_comm_split(first, color, -rank, &second), WEFT_SUCCESS) << weft_last_error();
            EXPECT_EQ(weft_comm_free(&first), WEFT_SUCCESS);
            ASSERT_EQ(weft_comm_dup(second, &third), WEFT_SUCCESS) << weft_last_error();
            EXPECT_EQ(weft_rank(third), weft_rank(second));
            weft_comm *both[] = {second, third};
            for (int i = 0; i < 2; i++) {
                Caller caller(both[i], shared[i].of(color));
                for (const Call &call : mixture(weft_size(both[i]), 30, 9))
                    caller.perform(call);
            }
            EXPECT_EQ(weft_comm_free(&third), WEFT_SUCCESS);
            EXPECT_EQ(weft_comm_free(&second), WEFT_SUCCESS);
            EXPECT_EQ(weft_barrier(world), WEFT_SUCCESS);
        });
        ASSERT_FALSE(HasFailure());
    }
}

// Messages of equal source and tag on a communicator and two duplicates of it, received in another order than sent.
TEST_P(Splits, KeepTheirMessagesApart) {
    threads::Watchdog watchdog(280);
    for (weft_thread_level level : levels) {
        JobShape shape{GetParam(), level};
        SimWorlds(shape).run([&](weft_comm *world) {
            weft_comm *comms[3] = {world, nullptr, nullptr};
            EXPECT_EQ(weft_comm_dup(world, &comms[1]), WEFT_SUCCESS);
            EXPECT_EQ(weft_comm_split(world, 0, mixed(weft_rank(world), 0, 0).key, &comms[2]), WEFT_SUCCESS);
            for (size_t bytes : {size_t(8), size_t(70000)}) {
                std::vector<unsigned char> out[3], in(bytes);
                std::vector<weft_request *> sends(3);
                for (int i = 0; i < 3; i++) { // to the next one
                    int to = (weft_rank(comms[i]) + 1) % weft_size(comms[i]);
                    out[i].assign(bytes, (unsigned char)(10 * i + 1));
                    EXPECT_EQ(weft_isend(out[i].data(), bytes, WEFT_BYTE, to, 7, comms[i], &sends[size_t(i)]),
                              WEFT_SUCCESS);
                }
                for (int i : {2, 0, 1}) {
                    weft_status status{};
                    EXPECT_EQ(weft_recv(in.data(), bytes, WEFT_BYTE, WEFT_ANY_SOURCE, WEFT_ANY_TAG, comms[i], &status),
                              WEFT_SUCCESS);
                    int size = weft_size(comms[i]);
                    EXPECT_EQ(status.source, (weft_rank(comms[i]) + size - 1) % size);
                    EXPECT_EQ(in, out[i]) << "communicator " << i;
                }
                EXPECT_EQ(weft_waitall(3, sends.data(), WEFT_STATUSES_IGNORE), WEFT_SUCCESS);
                EXPECT_EQ(weft_barrier(world), WEFT_SUCCESS);
            }
            for (int i : {1, 2})
                EXPECT_EQ(weft_comm_free(&comms[i]), WEFT_SUCCESS) << weft_last_error();
        });
        ASSERT_FALSE(HasFailure());
    }
}

namespace {

void sum_of_ones(weft_comm *comm) {
    uint64_t one = 1, sum = 0;
    EXPECT_EQ(weft_allreduce(&one, &sum, 1, WEFT_UINT64_T, WEFT_SUM, comm), WEFT_SUCCESS) << weft_last_error();
    EXPECT_EQ(sum, uint64_t(weft_size(comm)));
}

// Those that its process uses, a bit each.
std::vector<uint64_t> contexts_of(const weft_comm *comm) {
    hier_contexts *contexts = &comm->world->contexts;
    pthread_mutex_lock(&contexts->lock);
    std::vector<uint64_t> used(std::begin(contexts->used), std::end(contexts->used));
    pthread_mutex_unlock(&contexts->lock);
    return used;
}

} // namespace

INSTANTIATE_TEST_SUITE_P(Sim, Splits, ::testing::ValuesIn(shapes), shape_name);

// More in a row than there are contexts, so that each is used many times: none is lost, nor by a process that is alone in its group,
// which needs none.
TEST(ManyCommunicators, AreMadeAndFreedInTurn) {
    threads::Watchdog watchdog(280);
    const int many = effort::rounds(int(INTER_CONTEXTS) + 900), few = 70; // these are enough to see that one was kept
    for (weft_thread_level level : {WEFT_THREAD_FUNNELED, WEFT_THREAD_SERIALIZED})
        for (const Threads &threads : {Threads{1, 2}, Threads{1, 1, 1}}) {
            SimWorlds(JobShape{threads, level}).run([&](weft_comm *world) {
                const int color = weft_node(world) == 2, rounds = threads.size() == 2 ? many : few;
                const std::vector<uint64_t> used = contexts_of(world);
                for (int round = 0; round < rounds; round++) {
                    weft_comm *comm = nullptr;
                    ASSERT_EQ(weft_comm_split(world, color, round % 3 ? weft_rank(world) : -weft_rank(world), &comm),
                              WEFT_SUCCESS)
                        << weft_last_error();
                    if (round % 64 == 0)
                        sum_of_ones(comm);
                    EXPECT_EQ(weft_comm_free(&comm), WEFT_SUCCESS);
                }
                EXPECT_EQ(weft_barrier(world), WEFT_SUCCESS);
                EXPECT_EQ(contexts_of(world), used) << "process " << weft_node(world);
            });
            ASSERT_FALSE(HasFailure());
        }
}

// What nobody has received when its communicator is freed is lost, and not received on the next one, which may well have its context.
TEST(ManyCommunicators, DoNotReceiveWhatWasSentOnTheOneBefore) {
    threads::Watchdog watchdog(280);
    for (weft_thread_level level : {WEFT_THREAD_FUNNELED, WEFT_THREAD_SERIALIZED, WEFT_THREAD_MULTIPLE}) {
        SimWorlds worlds(JobShape{{2, 2}, level});
        worlds.run([&](weft_comm *world) {
            int rank = weft_rank(world), last = weft_size(world) - 1;
            for (int round = 0; round < effort::rounds(100); round++) {
                weft_comm *comm = nullptr;
                weft_status status;
                int value = -1;
                EXPECT_EQ(weft_comm_dup(world, &comm), WEFT_SUCCESS) << weft_last_error();
                if (rank == last) {
                    EXPECT_EQ(weft_recv(&value, 1, WEFT_INT, WEFT_ANY_SOURCE, 7, comm, &status), WEFT_SUCCESS);
                    EXPECT_EQ(value, round);
                }
                for (int stray = 0; rank == 0 && stray < 2; stray++)
                    EXPECT_EQ(weft_send(stray ? &stray : &round, 1, WEFT_INT, last, 7, comm), WEFT_SUCCESS);
                EXPECT_EQ(weft_comm_free(&comm), WEFT_SUCCESS) << weft_last_error();
            }
            EXPECT_EQ(weft_barrier(world), WEFT_SUCCESS); // the leaders drive
        });
        ASSERT_FALSE(HasFailure());
    }
}

// What thousands of communicators have left unreceived, in a channel that its thread has not looked at since, comes to none that has their context now.
TEST(ManyCommunicators, DoNotReceiveWhatWasSentOnOnesLongBefore) {
    threads::Watchdog watchdog(280);
    for (int seed = 1; seed <= 2; seed++) {
        SimWorlds worlds(JobShape{{2, 2}, WEFT_THREAD_MULTIPLE});
        worlds.run([&](weft_comm *world) {
            int rank = weft_rank(world), last = weft_size(world) - 1, found = 0;
            weft_comm *comm = nullptr;
            for (int call = 0; call < seed; call++) // the calls before tell communicators apart
                EXPECT_EQ(weft_barrier(world), WEFT_SUCCESS);
            for (int round = 0; round < (effort::sanitized ? 400 : 4000); round++) {
                EXPECT_EQ(weft_comm_dup(world, &comm), WEFT_SUCCESS) << weft_last_error();
                if (rank == 0) {
                    EXPECT_EQ(weft_send(&round, 1, WEFT_INT, last, 7, comm), WEFT_SUCCESS);
                }
                EXPECT_EQ(weft_comm_free(&comm), WEFT_SUCCESS) << weft_last_error();
            }
            EXPECT_EQ(weft_comm_dup(world, &comm), WEFT_SUCCESS) << weft_last_error();
            for (int look = 0; rank == last && look < 1000; look++) {
                EXPECT_EQ(weft_iprobe(WEFT_ANY_SOURCE, WEFT_ANY_TAG, comm, &found, WEFT_STATUS_IGNORE), WEFT_SUCCESS);
                ASSERT_EQ(found, 0);
            }
            EXPECT_EQ(weft_comm_free(&comm), WEFT_SUCCESS) << weft_last_error();
        });
        ASSERT_FALSE(HasFailure());
    }
}

// The epoch in a header wraps around: the same bits, and the same context, 4096 communicators later.
TEST(ManyCommunicators, DoNotReceiveWhatWasSentWhenTheirEpochWasLastThere) {
    threads::Watchdog watchdog(280);
    for (weft_thread_level level : {WEFT_THREAD_SERIALIZED, WEFT_THREAD_MULTIPLE}) {
        if (effort::sanitized && level == WEFT_THREAD_SERIALIZED)
            continue;
        SimWorlds worlds(JobShape{{1, 1}, level});
        worlds.run([&](weft_comm *world) {
            int rank = weft_rank(world), found = 0;
            weft_comm *comm = nullptr;
            for (int round = 0; round <= 4096; round++) {
                EXPECT_EQ(weft_comm_dup(world, &comm), WEFT_SUCCESS) << weft_last_error();
                if (rank == 0 && round == 0) {
                    EXPECT_EQ(weft_send(&round, 1, WEFT_INT, 1, 7, comm), WEFT_SUCCESS);
                }
                if (round < 4096) {
                    EXPECT_EQ(weft_comm_free(&comm), WEFT_SUCCESS) << weft_last_error();
                }
            }
            for (int look = 0; rank == 1 && look < 1000; look++) {
                EXPECT_EQ(weft_iprobe(WEFT_ANY_SOURCE, WEFT_ANY_TAG, comm, &found, WEFT_STATUS_IGNORE), WEFT_SUCCESS);
                ASSERT_EQ(found, 0);
            }
            EXPECT_EQ(weft_comm_free(&comm), WEFT_SUCCESS) << weft_last_error();
        });
        ASSERT_FALSE(HasFailure());
    }
}

// All contexts that there are: then there is an error on every rank, and after one was freed there is room again.
TEST(ManyCommunicators, MoreThanCanStandAtOnce) {
    threads::Watchdog watchdog(280);
    JobShape shape{{1, 1}};
    shape.slots = 2;
    SimWorlds worlds(shape);
    worlds.run_processes([&](int, hier_world *world) {
        std::vector<weft_comm *> made;
        weft_comm *comm = nullptr;
        int code;
        while ((code = weft_comm_dup(world->process_comm, &comm)) == WEFT_SUCCESS && made.size() < INTER_CONTEXTS)
            made.push_back(comm);
        EXPECT_EQ(code, WEFT_ERR_BUSY) << weft_last_error();
        EXPECT_EQ(made.size(), HIER_MOST_CONTEXTS);
        EXPECT_NE(std::string(weft_last_error()).find("4094"), std::string::npos) << weft_last_error();
        ASSERT_FALSE(made.empty());
        EXPECT_EQ(weft_comm_free(&made[made.size() / 2]), WEFT_SUCCESS);
        EXPECT_EQ(weft_comm_dup(world->process_comm, &made[made.size() / 2]), WEFT_SUCCESS) << weft_last_error();
        sum_of_ones(made[made.size() / 2]);
        for (weft_comm *&each : made)
            EXPECT_EQ(weft_comm_free(&each), WEFT_SUCCESS);
    });
}

// More groups on a node than a word has bits: each has a context of its own.
TEST(ManyCommunicators, MoreThanSixtyFourByOneSplit) {
    threads::Watchdog watchdog(60);
    JobShape shape{{66, 66}, WEFT_THREAD_SERIALIZED, WEFT_WAIT_BLOCK};
    SimWorlds(shape).run([&](weft_comm *world) {
        const int thread = weft_thread(world), one = 1 << 10;
        weft_comm *comm = nullptr;
        ASSERT_EQ(weft_comm_split(world, thread, 0, &comm), WEFT_SUCCESS) << weft_last_error();
        for (int round = 0; round < 3; round++) {
            int mine = one + thread, sum = 0;
            EXPECT_EQ(weft_allreduce(&mine, &sum, 1, WEFT_INT, WEFT_SUM, comm), WEFT_SUCCESS) << weft_last_error();
            EXPECT_EQ(sum, 2 * mine);
        }
        EXPECT_EQ(weft_comm_free(&comm), WEFT_SUCCESS);
    });
}

// The threads of all processes make communicators at the same time, each row of equal threads with a parent of its own, and a
// further thread of process communicators; at their own pace.
TEST(ManyCommunicators, AreMadeByThreadsAtTheSameTime) {
    threads::Watchdog watchdog(280);
    for (weft_thread_level level : {WEFT_THREAD_SERIALIZED, WEFT_THREAD_MULTIPLE}) {
        JobShape shape{{3, 3, 3}, level};
        SimWorlds worlds(shape);
        worlds.run_processes([&](int rank, hier_world *world) {
            weft_team *team = nullptr;
            ASSERT_EQ(weft_team_create(world->process_comm, 3, &team), WEFT_SUCCESS);
            std::thread other([&] {
                threads::Random random(uint64_t(rank) + 77);
                for (int round = 0; round < effort::rounds(60); round++) {
                    weft_comm *comm = nullptr;
                    random.dawdle();
                    ASSERT_EQ(weft_comm_split(world->process_comm, (rank + round) % 2, -rank, &comm), WEFT_SUCCESS)
                        << weft_last_error();
                    sum_of_ones(comm);
                    EXPECT_EQ(weft_comm_free(&comm), WEFT_SUCCESS);
                }
            });
            worlds.run_team(team, [&](weft_comm *comm) {
                threads::Random random(uint64_t(weft_rank(comm)));
                weft_comm *row = nullptr;
                ASSERT_EQ(weft_comm_split(comm, weft_thread(comm), 0, &row), WEFT_SUCCESS);
                for (int round = 0; round < effort::rounds(60); round++) {
                    weft_comm *made[2] = {nullptr, nullptr};
                    random.dawdle();
                    for (weft_comm *&each : made)
                        ASSERT_EQ(weft_comm_dup(row, &each), WEFT_SUCCESS) << weft_last_error();
                    sum_of_ones(made[1]);
                    for (weft_comm *&each : made)
                        EXPECT_EQ(weft_comm_free(&each), WEFT_SUCCESS);
                }
                EXPECT_EQ(weft_comm_free(&row), WEFT_SUCCESS);
            });
            other.join();
            EXPECT_EQ(weft_team_free(&team), WEFT_SUCCESS) << weft_last_error();
        });
        ASSERT_FALSE(HasFailure());
    }
}

// Under FUNNELED the leader drives for a group that it is not in while it waits on a communicator within its process: in a collective,
// and for a message.
TEST(Funneled, LeadersServeOthersFromWithinTheirProcess) {
    threads::Watchdog watchdog(280);
    for (weft_wait_policy policy : {WEFT_WAIT_AUTO, WEFT_WAIT_BLOCK}) {
        JobShape shape{{3, 3}, WEFT_THREAD_FUNNELED, policy};
        shape.seed = 5; // what the leader starts for them may be over at once
        Shared shared;
        std::atomic<int> done[2][2] = {{{0}, {0}}, {{0}, {0}}}; // by round and process
        SimWorlds(shape).run([&](weft_comm *world) {
            int thread = weft_thread(world), node = weft_node(world);
            weft_comm *comm = nullptr;
            ASSERT_EQ(weft_comm_split(world, thread == 2 ? 9 : node, 0, &comm), WEFT_SUCCESS) << weft_last_error();
            for (int round = 0; round < 2; round++) {
                if (thread == 2) {
                    Caller caller(comm, shared.of(9));
                    for (const Call &call : mixture(2, 60, uint64_t(round) + 21))
                        caller.perform(call);
                    done[round][node] = 1;
                } else {
                    while (thread == 1 && !done[round][node])
                        std::this_thread::yield();
                    int got = 0;
                    if (round == 0)
                        EXPECT_EQ(weft_barrier(comm), WEFT_SUCCESS);
                    else if (thread == 1)
                        EXPECT_EQ(weft_send(&node, 1, WEFT_INT, 0, 1, comm), WEFT_SUCCESS);
                    else
                        EXPECT_EQ(weft_recv(&got, 1, WEFT_INT, 1, 1, comm, WEFT_STATUS_IGNORE), WEFT_SUCCESS);
                }
                EXPECT_EQ(weft_barrier(world), WEFT_SUCCESS);
            }
            EXPECT_EQ(weft_comm_free(&comm), WEFT_SUCCESS);
        });
        ASSERT_FALSE(HasFailure());
    }
}

// Threads of such a group that are in different calls all learn it, and nobody waits for what cannot be started any more.
TEST(Funneled, MismatchesWithoutTheLeaderEnd) {
    threads::Watchdog watchdog(280);
    JobShape shape{{3, 3}, WEFT_THREAD_FUNNELED};
    SimWorlds(shape).run([&](weft_comm *world) {
        int thread = weft_thread(world);
        weft_comm *comm = nullptr;
        ASSERT_EQ(weft_comm_split(world, thread - 1, -weft_rank(world), &comm), WEFT_SUCCESS) << weft_last_error();
        ASSERT_EQ(comm == nullptr, thread == 0);
        if (comm) {
            EXPECT_EQ(weft_comm_free(&comm), WEFT_SUCCESS);
        }
        ASSERT_EQ(weft_comm_split(world, thread ? 1 : WEFT_COLOR_UNDEFINED, 0, &comm), WEFT_SUCCESS);
        if (comm) {
            int one = 1, sum = 0;
            int code = thread == 1 ? weft_allreduce(&one, &sum, 1, WEFT_INT, WEFT_SUM, comm) : weft_barrier(comm);
            EXPECT_EQ(code, WEFT_ERR_MISMATCH) << weft_last_error();
            EXPECT_EQ(weft_comm_free(&comm), WEFT_SUCCESS) << weft_last_error();
        }
        EXPECT_EQ(weft_barrier(world), WEFT_SUCCESS);
    });
}

// A process communicator that was split has teams of its own, messages, and requests that are completed beside others.
TEST(ProcessCommunicators, ThatWereSplitCanDoWhatTheirParentCan) {
    threads::Watchdog watchdog(280);
    for (weft_thread_level level : levels) {
        JobShape shape{{1, 1, 1, 1, 1}, level};
        SimWorlds worlds(shape);
        worlds.run_processes([&](int rank, hier_world *world) {
            weft_comm *comm = nullptr;
            ASSERT_EQ(weft_comm_split(world->process_comm, rank % 2, -rank, &comm), WEFT_SUCCESS) << weft_last_error();
            int size = rank % 2 ? 2 : 3;
            EXPECT_EQ(weft_size(comm), size);
            EXPECT_EQ(weft_rank(comm), size - 1 - rank / 2);
            exchange(comm, 2);
            int mine = weft_rank(comm) + 1, sums[2] = {0, 0};
            weft_request *requests[2] = {nullptr, nullptr};
            EXPECT_EQ(weft_iallreduce(&mine, &sums[0], 1, WEFT_INT, WEFT_SUM, comm, &requests[0]), WEFT_SUCCESS);
            EXPECT_EQ(weft_iallreduce(&mine, &sums[1], 1, WEFT_INT, WEFT_SUM, world->process_comm, &requests[1]),
                      WEFT_SUCCESS);
            EXPECT_EQ(weft_comm_free(&comm), WEFT_ERR_BUSY);
            EXPECT_EQ(weft_waitall(2, requests, WEFT_STATUSES_IGNORE), WEFT_SUCCESS);
            EXPECT_EQ(sums[0], size * (size + 1) / 2);
            EXPECT_EQ(sums[1], 3 + 6);
            weft_team *team = nullptr;
            ASSERT_EQ(weft_team_create(comm, 1 + rank / 2, &team), WEFT_SUCCESS) << weft_last_error();
            worlds.run_team(team, [&](weft_comm *threads) {
                EXPECT_EQ(weft_size(threads), rank % 2 ? 1 + 2 : 1 + 2 + 3);
                sum_of_ones(threads);
                exchange(threads, 3);
            });
            EXPECT_EQ(weft_team_free(&team), WEFT_SUCCESS);
            EXPECT_EQ(weft_comm_free(&comm), WEFT_SUCCESS) << weft_last_error();
            EXPECT_EQ(weft_barrier(world->process_comm), WEFT_SUCCESS);
        });
        ASSERT_FALSE(HasFailure());
    }
}

// One whose process is alone in it tells nobody of what is called on it.
TEST(ProcessCommunicators, OfOneProcessHaveTeams) {
    threads::Watchdog watchdog(280);
    for (int processes : {1, 3}) {
        SimWorlds worlds(JobShape{std::vector<int>(size_t(processes), 1)});
        worlds.run_processes([&](int rank, hier_world *world) {
            weft_comm *own = nullptr, *again = nullptr;
            weft_team *team = nullptr;
            ASSERT_EQ(weft_comm_split(world->process_comm, rank, 0, &own), WEFT_SUCCESS) << weft_last_error();
            ASSERT_EQ(weft_comm_dup(own, &again), WEFT_SUCCESS) << weft_last_error();
            for (weft_comm *parent : {own, again}) {
                ASSERT_EQ(weft_team_create(parent, 3, &team), WEFT_SUCCESS) << weft_last_error();
                worlds.run_team(team, [](weft_comm *comm) {
                    EXPECT_EQ(weft_size(comm), 3);
                    sum_of_ones(comm);
                });
                EXPECT_EQ(weft_team_free(&team), WEFT_SUCCESS) << weft_last_error();
            }
            EXPECT_EQ(weft_comm_free(&again), WEFT_SUCCESS) << weft_last_error();
            EXPECT_EQ(weft_comm_free(&own), WEFT_SUCCESS) << weft_last_error();
        });
        ASSERT_FALSE(HasFailure());
    }
}
