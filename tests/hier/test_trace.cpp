// SPDX-License-Identifier: BSD-3-Clause
// Timelines, in several worlds over the sim transport: a track a rank, a span an operation, and nothing when nobody asks.
#include "sim_worlds.h"
#include "timeline.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <filesystem>
extern "C" {
#include <hier/trace.h>
}

namespace {

namespace fs = std::filesystem;

// A directory that is gone after the test.
class Directory {
  public:
    Directory() {
        char name[] = "/tmp/test-weft-trace-XXXXXX";
        path_ = mkdtemp(name) ? name : "";
    }
    ~Directory() {
        fs::remove_all(path_);
    }
    Directory(const Directory &) = delete;
    const std::string &path() const {
        return path_;
    }
    size_t entries() const {
        return size_t(std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
    }

  private:
    std::string path_;
};

// Runs the body on a team, and writes what was traced.
void run(const JobShape &shape, const std::function<void(weft_comm *)> &body) {
    SimWorlds worlds(shape);
    worlds.run_processes([&](int rank, hier_world *world) {
        weft_team *team = nullptr;
        ASSERT_EQ(weft_team_create(world->process_comm, shape.threads[size_t(rank)], &team), WEFT_SUCCESS);
        worlds.run_team(team, body);
        EXPECT_EQ(weft_team_free(&team), WEFT_SUCCESS);
        weft_request *request = nullptr;
        int word = 0;
        EXPECT_EQ(weft_ibcast(&word, 1, WEFT_INT, 0, world->process_comm, &request), WEFT_SUCCESS);
        EXPECT_EQ(weft_wait(&request, WEFT_STATUS_IGNORE), WEFT_SUCCESS);
        EXPECT_EQ(hier_observation_write(world), WEFT_SUCCESS) << weft_last_error();
    });
}

void some_of_everything(weft_comm *comm) {
    int rank = weft_rank(comm), size = weft_size(comm);
    std::vector<int> data(30000), more(30000);
    for (int i = 0; i < 5; i++)
        EXPECT_EQ(weft_allreduce(data.data(), more.data(), 2, WEFT_INT, WEFT_SUM, comm), WEFT_SUCCESS);
    EXPECT_EQ(weft_allreduce(data.data(), more.data(), 30000, WEFT_INT, WEFT_SUM, comm), WEFT_SUCCESS);
    EXPECT_EQ(weft_bcast(data.data(), 30000, WEFT_INT, size - 1, comm), WEFT_SUCCESS);
    EXPECT_EQ(weft_sendrecv(data.data(), 10, WEFT_INT, (rank + 1) % size, 7, more.data(), 10, WEFT_INT,
                            (rank + size - 1) % size, 7, comm, WEFT_STATUS_IGNORE),
              WEFT_SUCCESS);
    weft_request *requests[2];
    EXPECT_EQ(weft_recv(more.data(), 1, WEFT_INT, WEFT_PROC_NULL, WEFT_ANY_TAG, comm, WEFT_STATUS_IGNORE),
              WEFT_SUCCESS);
    for (int i = 0; i < 3; i++) {
        EXPECT_EQ(weft_irecv(more.data(), 100, WEFT_INT, WEFT_ANY_SOURCE, 8, comm, &requests[0]), WEFT_SUCCESS);
        EXPECT_EQ(weft_isend(data.data(), 100, WEFT_INT, (rank + 1) % size, 8, comm, &requests[1]), WEFT_SUCCESS);
        EXPECT_EQ(weft_waitall(2, requests, WEFT_STATUSES_IGNORE), WEFT_SUCCESS);
    }
    for (int i = 0; i < 2; i++)
        EXPECT_EQ(weft_iallreduce(data.data(), more.data() + i * 4, 4, WEFT_INT, WEFT_SUM, comm, &requests[i]),
                  WEFT_SUCCESS);
    EXPECT_EQ(weft_barrier(comm), WEFT_SUCCESS);
    EXPECT_EQ(weft_waitall(2, requests, WEFT_STATUSES_IGNORE), WEFT_SUCCESS);
    EXPECT_EQ(weft_gather_init(data.data(), 5, WEFT_INT, more.data(), 5, WEFT_INT, 0, comm, &requests[0]),
              WEFT_SUCCESS);
    for (int i = 0; i < 3; i++) {
        EXPECT_EQ(weft_start(&requests[0]), WEFT_SUCCESS);
        EXPECT_EQ(weft_wait(&requests[0], WEFT_STATUS_IGNORE), WEFT_SUCCESS);
    }
    EXPECT_EQ(weft_request_free(&requests[0]), WEFT_SUCCESS);
    EXPECT_EQ(weft_barrier(comm), WEFT_SUCCESS);
}

class Shapes : public ::testing::TestWithParam<std::vector<int>> {};

} // namespace

TEST_P(Shapes, EveryOperationIsASpanOfItsRanksTrack) {
    threads::Watchdog watchdog(280);
    for (weft_thread_level level : {WEFT_THREAD_SERIALIZED, WEFT_THREAD_FUNNELED}) {
        Directory directory;
        JobShape shape{GetParam(), level};
        shape.trace = directory.path();
        run(shape, some_of_everything);
        EXPECT_EQ(directory.entries(), shape.threads.size());
        int rank = 0, networks = 0;
        for (int process = 0; process < int(shape.threads.size()); process++) {
            Timeline timeline(directory.path() + "/trace." + std::to_string(process) + ".json");
            ASSERT_EQ(timeline.processes.size(), 1u);
            EXPECT_EQ(timeline.processes.begin()->second.find("process " + std::to_string(process) + " ("), 0u);
            EXPECT_EQ(timeline.tracks.size(), size_t(shape.threads[size_t(process)]) + 1);
            EXPECT_EQ(timeline.dropped, 0);
            for (int thread = 0; thread < shape.threads[size_t(process)]; thread++, rank++) {
                Track track = timeline.rank(rank);
                EXPECT_EQ(track.count("weft_allreduce"), 6) << rank;
                EXPECT_EQ(track.count("weft_bcast"), 1) << rank;
                EXPECT_EQ(track.count("weft_barrier"), 2) << rank;
                EXPECT_EQ(track.count("weft_sendrecv"), 1) << rank;
                EXPECT_EQ(track.count("weft_isend"), 3) << rank;
                EXPECT_EQ(track.count("weft_irecv"), 3) << rank;
                EXPECT_EQ(track.count("weft_iallreduce"), 2) << rank;
                EXPECT_EQ(track.count("weft_gather_init"), 3) << rank;
                EXPECT_EQ(track.count("network"), track.count("threads in")) << rank;
                EXPECT_EQ(track.count("network"), track.count("threads out")) << rank;
                networks += int(track.count("network"));
                for (const Span &span : track.spans) {
                    bool part = span.name == "weft_iallreduce" || span.name == "weft_gather_init";
                    if (span.name == "network" || span.name.find("threads ") == 0) // of one or the other
                        continue;
                    bool message = span.name.find("recv") != std::string::npos || span.name == "weft_isend";
                    EXPECT_EQ(span.category, message ? "message" : "collective") << span.name;
                    EXPECT_EQ(span.overlaps, part || span.name == "weft_isend" || span.name == "weft_irecv")
                        << span.name;
                    bool reduces = part || span.name == "weft_allreduce";
                    EXPECT_TRUE(!reduces || span.algorithm.find('/') != std::string::npos) << span.algorithm;
                    EXPECT_TRUE(span.name != "weft_bcast" || span.bytes == 120000);
                    EXPECT_TRUE(span.name != "weft_iallreduce" || span.bytes == 16);
                    EXPECT_TRUE(span.name != "weft_irecv" || span.bytes == 400);
                    EXPECT_FALSE(span.failed) << span.name;
                    const int root = span.name == "weft_bcast"         ? shape.ranks() - 1
                                     : span.name == "weft_gather_init" ? 0
                                                                       : -1;
                    EXPECT_EQ(span.root, root) << span.name;
                    if (span.name == "weft_irecv") { // of any source: who sent it
                        EXPECT_EQ(span.peer, (rank + shape.ranks() - 1) % shape.ranks());
                    }
                }
            }
            // What makes a team, and what the process called itself.
            for (const auto &[where, track] : timeline.tracks)
                if (track.name.find("process rank") == 0) {
                    EXPECT_GE(track.count("weft_team_create"), 1);
                    EXPECT_EQ(track.count("weft_ibcast"), 1);
                }
        }
        // Each allreduce has a part between processes that all ranks wait for, and so have those that are started.
        EXPECT_TRUE(shape.threads.size() == 1 ? networks == 0 : networks >= 8 * shape.ranks()) << networks;
    }
}

INSTANTIATE_TEST_SUITE_P(Sim, Shapes,
                         ::testing::Values(std::vector<int>{3}, std::vector<int>{2, 2}, std::vector<int>{1, 3, 2},
                                           std::vector<int>{1, 1}));

namespace {

// Ranks on nodes 0, 1, 0, 1: they have places.
weft_comm *interleave(weft_comm *comm) {
    int rank = weft_rank(comm);
    weft_comm *made = nullptr;
    EXPECT_EQ(weft_comm_split(comm, 0, rank % 2 * 2 + rank / 2, &made), WEFT_SUCCESS);
    EXPECT_NE(made->inner, nullptr);
    return made;
}

} // namespace

// What a communicator whose ranks have places runs on notes for the one that its user has, in every form.
TEST(Trace, HasAlgorithmsAndPhasesOfRanksThatHavePlaces) {
    threads::Watchdog watchdog(280);
    for (weft_thread_level level : {WEFT_THREAD_SERIALIZED, WEFT_THREAD_FUNNELED}) {
        Directory directory;
        JobShape shape{{2, 2}, level};
        shape.trace = directory.path();
        run(shape, [](weft_comm *comm) {
            weft_comm *made = interleave(comm);
            int in[4] = {1, 2, 3, 4}, out[4];
            weft_request *request = nullptr;
            EXPECT_EQ(weft_allreduce(in, out, 4, WEFT_INT, WEFT_SUM, made), WEFT_SUCCESS);
            EXPECT_EQ(weft_alltoall(in, 1, WEFT_INT, out, 1, WEFT_INT, made), WEFT_SUCCESS);
            EXPECT_EQ(weft_iallreduce(in, out, 4, WEFT_INT, WEFT_SUM, made, &request), WEFT_SUCCESS);
            EXPECT_EQ(weft_wait(&request, WEFT_STATUS_IGNORE), WEFT_SUCCESS);
            EXPECT_EQ(weft_allreduce_init(in, out, 4, WEFT_INT, WEFT_SUM, made, &request), WEFT_SUCCESS);
            EXPECT_EQ(weft_start(&request), WEFT_SUCCESS);
            EXPECT_EQ(weft_wait(&request, WEFT_STATUS_IGNORE), WEFT_SUCCESS);
            EXPECT_EQ(weft_request_free(&request), WEFT_SUCCESS);
            EXPECT_EQ(weft_comm_free(&made), WEFT_SUCCESS);
        });
        for (int rank = 0; rank < 4; rank++) {
            Track track = Timeline(directory.path() + "/trace." + std::to_string(rank / 2) + ".json").rank(rank);
            for (const char *name : {"weft_allreduce", "weft_alltoall", "weft_iallreduce", "weft_allreduce_init"}) {
                auto found = std::find_if(track.spans.begin(), track.spans.end(),
                                          [&](const Span &span) { return span.name == name; });
                ASSERT_NE(found, track.spans.end()) << name;
                EXPECT_NE(found->algorithm.find('/'), std::string::npos) << name << ": " << found->algorithm;
                auto networks = std::count_if(track.spans.begin(), track.spans.end(), [&](const Span &span) {
                    return span.name == "network" && span.began_ns >= found->began_ns &&
                           span.ended_ns <= found->ended_ns;
                });
                EXPECT_EQ(networks, 1) << name << ", rank " << rank;
            }
        }
    }
}

namespace {

// Alltoallvs and alltoallws of ints in every form: one in which rank r sends 3r + i + 1 of them to rank i, and one in place of r + i + 1.
void alltoalls_with_counts(weft_comm *comm) {
    size_t rank = size_t(weft_rank(comm)), size = size_t(weft_size(comm));
    std::vector<size_t> out(size), in(size), both(size);
    std::vector<ptrdiff_t> displs(size), displs_bytes(size);
    std::vector<const weft_datatype *> types(size, WEFT_INT);
    std::vector<int> send(100 * size), recv(100 * size);
    for (size_t i = 0; i < size; i++) {
        out[i] = 3 * rank + i + 1;
        in[i] = 3 * i + rank + 1;
        both[i] = rank + i + 1;
        displs[i] = ptrdiff_t(100 * i);
        displs_bytes[i] = ptrdiff_t(400 * i);
    }
#define ALLTOALLV          send.data(), out.data(), displs.data(), WEFT_INT, recv.data(), in.data(), displs.data(), WEFT_INT
#define ALLTOALLV_IN_PLACE WEFT_IN_PLACE, nullptr, nullptr, nullptr, recv.data(), both.data(), displs.data(), WEFT_INT
#define ALLTOALLW                                                                                                      \
    send.data(), out.data(), displs_bytes.data(), types.data(), recv.data(), in.data(), displs_bytes.data(),           \
        types.data()
#define ALLTOALLW_IN_PLACE                                                                                             \
    WEFT_IN_PLACE, nullptr, nullptr, nullptr, recv.data(), both.data(), displs_bytes.data(), types.data()
    EXPECT_EQ(weft_alltoallv(ALLTOALLV, comm), WEFT_SUCCESS);
    EXPECT_EQ(weft_alltoallv(ALLTOALLV_IN_PLACE, comm), WEFT_SUCCESS);
    EXPECT_EQ(weft_alltoallw(ALLTOALLW, comm), WEFT_SUCCESS);
    EXPECT_EQ(weft_alltoallw(ALLTOALLW_IN_PLACE, comm), WEFT_SUCCESS);
    weft_request *request = nullptr;
    auto complete = [&](int code) {
        EXPECT_EQ(code, WEFT_SUCCESS);
        EXPECT_EQ(weft_wait(&request, WEFT_STATUS_IGNORE), WEFT_SUCCESS);
    };
    complete(weft_ialltoallv(ALLTOALLV, comm, &request));
    complete(weft_ialltoallv(ALLTOALLV_IN_PLACE, comm, &request));
    complete(weft_ialltoallw(ALLTOALLW, comm, &request));
    complete(weft_ialltoallw(ALLTOALLW_IN_PLACE, comm, &request));
    auto start_and_free = [&](int code) {
        EXPECT_EQ(code, WEFT_SUCCESS);
        complete(weft_start(&request));
        EXPECT_EQ(weft_request_free(&request), WEFT_SUCCESS);
    };
    start_and_free(weft_alltoallv_init(ALLTOALLV, comm, &request));
    start_and_free(weft_alltoallv_init(ALLTOALLV_IN_PLACE, comm, &request));
    start_and_free(weft_alltoallw_init(ALLTOALLW, comm, &request));
    start_and_free(weft_alltoallw_init(ALLTOALLW_IN_PLACE, comm, &request));
#undef ALLTOALLV
#undef ALLTOALLV_IN_PLACE
#undef ALLTOALLW
#undef ALLTOALLW_IN_PLACE
}

void expect_bytes_of_alltoalls(const Track &track, long long rank, long long size) {
    long long ranks = size * (size + 1) / 2; // 1 + … + size
    std::vector<long long> expected = {4 * (3 * rank * size + ranks), 4 * (rank * size + ranks)};
    for (const char *name : {"weft_alltoallv", "weft_alltoallw", "weft_ialltoallv", "weft_ialltoallw",
                             "weft_alltoallv_init", "weft_alltoallw_init"}) {
        std::vector<long long> bytes;
        for (const Span &span : track.spans)
            if (span.name == name)
                bytes.push_back(span.bytes);
        EXPECT_EQ(bytes, expected) << name << ", " << track.name;
    }
}

} // namespace

// Those that a rank sends; in place, those that it expects.
TEST(Trace, HasTheBytesOfAlltoallsWithCounts) {
    threads::Watchdog watchdog(280);
    for (bool mixed : {false, true}) {
        Directory directory;
        JobShape shape{{2, 2}};
        shape.trace = directory.path();
        run(shape, [&](weft_comm *comm) {
            weft_comm *made = mixed ? interleave(comm) : comm;
            alltoalls_with_counts(made);
            if (weft_rank(comm) % 2 == 0)
                alltoalls_with_counts(comm->world->process_comm);
            EXPECT_EQ(weft_barrier(made), WEFT_SUCCESS);
            if (mixed) {
                EXPECT_EQ(weft_comm_free(&made), WEFT_SUCCESS);
            }
        });
        for (int process = 0; process < 2; process++) {
            Timeline timeline(directory.path() + "/trace." + std::to_string(process) + ".json");
            for (int thread = 0; thread < 2; thread++) {
                int rank = 2 * process + thread;
                expect_bytes_of_alltoalls(timeline.rank(rank), mixed ? 2 * thread + process : rank, 4);
            }
            for (const auto &[where, track] : timeline.tracks)
                if (track.name.find("process rank") == 0)
                    expect_bytes_of_alltoalls(track, process, 2);
        }
    }
}

// Short ones again and again, which go by a way of their own: all are there, one behind the other, and with what was chosen. Nobody has
// left a barrier before all have come, but for the moments in which threads on cores of their own first come and then look at the clock.
TEST(Trace, HasBriefCalls) {
    threads::Watchdog watchdog(280);
    const int rounds = 50;
    for (weft_wait_policy policy : {WEFT_WAIT_SPIN, WEFT_WAIT_BLOCK}) {
        Directory directory;
        JobShape shape{{policy == WEFT_WAIT_SPIN ? 2 : 3}};
        shape.policy = policy;
        shape.trace = directory.path();
        std::atomic<int> hot{0};
        run(shape, [&](weft_comm *comm) {
            long long words[8] = {1}, sums[8];
            for (int round = 0; round < rounds; round++) {
                EXPECT_EQ(weft_allreduce(words, sums, 1, WEFT_LONG_LONG, WEFT_SUM, comm), WEFT_SUCCESS);
                EXPECT_EQ(weft_bcast(words, 2, WEFT_LONG_LONG, 1, comm), WEFT_SUCCESS);
                EXPECT_EQ(weft_gather(words, 1, WEFT_LONG_LONG, sums, 1, WEFT_LONG_LONG, 0, comm), WEFT_SUCCESS);
                EXPECT_EQ(weft_barrier(comm), WEFT_SUCCESS);
            }
            hot += comm->member->team->waiting.hot > 0;
        });
        EXPECT_EQ(hot, policy == WEFT_WAIT_SPIN ? 2 : 0);
        Timeline timeline(directory.path() + "/trace.0.json");
        std::vector<long long> last_began(rounds, 0), first_ended(rounds, LLONG_MAX);
        const struct {
            const char *call;
            int bytes, root;
        } expected[] = {
            {"weft_allreduce", 8, -1}, {"weft_bcast", 16, 1}, {"weft_gather", 8, 0}, {"weft_barrier", 0, -1}};
        for (int rank = 0; rank < shape.ranks(); rank++) {
            const Track track = timeline.rank(rank);
            ASSERT_EQ(track.spans.size(), size_t(rounds) * 4);
            long long before = 0;
            for (size_t i = 0; i < track.spans.size(); i++) {
                const Span &span = track.spans[i];
                EXPECT_EQ(span.name, expected[i % 4].call) << i;
                EXPECT_EQ(span.bytes, expected[i % 4].bytes) << i;
                EXPECT_EQ(span.root, expected[i % 4].root) << i;
                EXPECT_EQ(span.category, "collective");
                EXPECT_FALSE(span.overlaps || span.failed) << i;
                EXPECT_NE(span.algorithm.find(i % 4 == 3 ? "/flags" : "/inline"), std::string::npos) << span.algorithm;
                EXPECT_GE(span.began_ns, before) << i;
                EXPECT_GE(span.ended_ns, span.began_ns) << i;
                before = span.ended_ns;
                if (i % 4 == 3) {
                    last_began[i / 4] = std::max(last_began[i / 4], span.began_ns);
                    first_ended[i / 4] = std::min(first_ended[i / 4], span.ended_ns);
                }
            }
        }
        for (int round = 0; round < rounds && !hot; round++)
            EXPECT_LE(last_began[size_t(round)], first_ended[size_t(round)]) << round;
    }
}

TEST(Trace, IsNothingWhenNobodyAsks) {
    threads::Watchdog watchdog(280);
    JobShape shape{{2, 2}};
    SimWorlds worlds(shape);
    worlds.run_processes([&](int, hier_world *world) {
        weft_team *team = nullptr;
        ASSERT_EQ(weft_team_create(world->process_comm, 2, &team), WEFT_SUCCESS);
        worlds.run_team(team, some_of_everything);
        EXPECT_EQ(weft_team_free(&team), WEFT_SUCCESS);
        EXPECT_EQ(world->observation.process.events, 0u);
        for (hier_observer *one = world->observation.observers; one; one = one->next)
            EXPECT_TRUE(!one->events && !one->first);
        EXPECT_EQ(hier_observation_write(world), WEFT_SUCCESS);
    });
}

// Messages and collectives that fail are there too, and say so.
TEST(Trace, HasWhatFailed) {
    threads::Watchdog watchdog(280);
    Directory directory;
    JobShape shape{{2}};
    shape.trace = directory.path();
    run(shape, [](weft_comm *comm) {
        int two[2] = {};
        EXPECT_EQ(weft_rank(comm) ? weft_send(two, 2, WEFT_INT, 0, 0, comm)
                                  : weft_recv(two, 1, WEFT_INT, 1, 0, comm, WEFT_STATUS_IGNORE),
                  weft_rank(comm) ? WEFT_SUCCESS : WEFT_ERR_TRUNCATE);
        EXPECT_EQ(weft_recv(two, 1, WEFT_INT, 5, 0, comm, WEFT_STATUS_IGNORE), WEFT_ERR_RANK); // not begun
        EXPECT_EQ(weft_rank(comm) ? weft_barrier(comm)
                                  : weft_allreduce(WEFT_IN_PLACE, two, 2, WEFT_INT, WEFT_SUM, comm),
                  WEFT_ERR_MISMATCH);
    });
    Timeline timeline(directory.path() + "/trace.0.json");
    const Track receiver = timeline.rank(0), sender = timeline.rank(1);
    EXPECT_EQ(receiver.count("weft_recv"), 1);
    EXPECT_EQ(receiver.count("weft_allreduce"), 1);
    EXPECT_EQ(sender.count("weft_send"), 1);
    EXPECT_EQ(sender.count("weft_barrier"), 1);
    for (const Track &track : {receiver, sender})
        for (const Span &span : track.spans)
            EXPECT_EQ(span.failed, span.name != "weft_send") << span.name;
}

// Whoever enters first: a thread goes on with the track of those that had its rank before.
TEST(Trace, HasOneTrackOfARankInAllTeams) {
    threads::Watchdog watchdog(280);
    Directory directory;
    JobShape shape{{3}};
    shape.trace = directory.path();
    SimWorlds(shape).run_processes([&](int, hier_world *world) {
        for (const std::array<int, 3> &order : {std::array{0, 1, 2}, std::array{2, 1, 0}, std::array{0, 1, 2}}) {
            weft_team *team = nullptr;
            std::atomic<size_t> entered{0};
            ASSERT_EQ(weft_team_create(world->process_comm, 3, &team), WEFT_SUCCESS);
            threads::run(3, [&](int rank) {
                weft_comm *comm = nullptr;
                while (order[entered] != rank)
                    std::this_thread::yield();
                EXPECT_EQ(weft_team_enter(team, rank, &comm), WEFT_SUCCESS);
                entered++;
                while (entered < order.size())
                    std::this_thread::yield();
                for (int sent = 0, got; sent <= rank; sent++)
                    EXPECT_EQ(weft_sendrecv(&sent, 1, WEFT_INT, rank, 0, &got, 1, WEFT_INT, rank, 0, comm,
                                            WEFT_STATUS_IGNORE),
                              WEFT_SUCCESS);
                EXPECT_EQ(weft_team_leave(&comm), WEFT_SUCCESS);
            });
            EXPECT_EQ(weft_team_free(&team), WEFT_SUCCESS);
        }
        EXPECT_EQ(hier_observation_write(world), WEFT_SUCCESS) << weft_last_error();
    });
    Timeline timeline(directory.path() + "/trace.0.json");
    for (int rank = 0; rank < 3; rank++)
        EXPECT_EQ(timeline.rank(rank).count("weft_sendrecv"), 3 * (rank + 1)) << "rank " << rank;
}

TEST(Trace, IsBounded) {
    threads::Watchdog watchdog(280);
    Directory directory;
    JobShape shape{{1}};
    shape.trace = directory.path();
    SimWorlds worlds(shape);
    worlds.run_processes([&](int, hier_world *world) {
        hier_observer *observer = hier_observer_take(world, 0);
        ASSERT_NE(observer, nullptr);
        hier_event event{};
        event.call = "weft_barrier";
        for (size_t i = 0; i < HIER_TRACE_MOST + 3; i++)
            if (hier_event *place = hier_trace_place(observer))
                *place = event;
        EXPECT_EQ(observer->events, HIER_TRACE_MOST);
        EXPECT_EQ(observer->dropped, 3u);
        hier_observer_give(world, observer);
    });
}

TEST(Trace, SaysHowMuchWasDropped) {
    threads::Watchdog watchdog(280);
    Directory directory;
    JobShape shape{{1}};
    shape.trace = directory.path();
    SimWorlds worlds(shape);
    worlds.run_processes([&](int, hier_world *world) {
        EXPECT_EQ(weft_barrier(world->process_comm), WEFT_SUCCESS);
        world->observation.process.dropped = 4;
        EXPECT_EQ(hier_observation_write(world), WEFT_SUCCESS);
    });
    EXPECT_EQ(Timeline(directory.path() + "/trace.0.json").dropped, 4);
}

TEST(Trace, NamesADirectoryThatCannotBe) {
    Directory directory;
    std::string file = directory.path() + "/file";
    std::ofstream(file) << "x";
    for (const std::string &bad : {file, directory.path() + "/no/such"})
        for (bool traces : {false, true}) {
            core_config config{};
            strcpy(traces ? config.trace : config.counters, bad.c_str());
            EXPECT_EQ(hier_observation_check(&config), WEFT_ERR_CONFIG);
            std::string sentence = weft_last_error();
            EXPECT_NE(sentence.find(traces ? "WEFT_TRACE" : "WEFT_COUNTERS"), std::string::npos) << sentence;
            EXPECT_NE(sentence.find(bad), std::string::npos) << sentence;
        }
}

namespace {
int host_of(inter_bootstrap *, int process) {
    return process > 0;
}
} // namespace

// The clock of process 0's host is everybody's, and processes of one host go by the same.
TEST(Trace, AlignsClocksBetweenHosts) {
    threads::Watchdog watchdog(280);
    JobShape shape{{1, 1, 1}};
    SimWorlds worlds(shape);
    int64_t ahead[3];
    worlds.run_processes([&](int rank, hier_world *world) {
        inter_bootstrap hosts{};
        hosts.host = host_of;
        world->bootstrap = &hosts;
        EXPECT_EQ(hier_trace_align(world), WEFT_SUCCESS);
        world->bootstrap = nullptr;
        ahead[rank] = world->observation.ahead_ns;
    });
    EXPECT_EQ(ahead[0], 0);
    EXPECT_EQ(ahead[1], ahead[2]);
}
