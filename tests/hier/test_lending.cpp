// SPDX-License-Identifier: BSD-3-Clause
// With a progress thread what threads have under way moves on while they are outside of weft: without it the ranks here would wait
// for those that wait for them.
#include "effort.h"
#include "oracle_job.h"
#include "sim_worlds.h"
#include <weft/comm.h>
#include <weft/message.h>

#include <atomic>
#include <functional>
#include <thread>

namespace {

// Of the ranks that are outside: they are told when one has found that it is over. And each waits for the others at the end.
class Outside {
  public:
    void over() {
        over_++;
    }
    void wait_for(int times) const {
        while (over_ < times)
            std::this_thread::yield();
    }

  private:
    std::atomic<int> over_{0};
};

constexpr size_t count =
    5000; // of a rank; a vector goes by slices, where threads meet more than once, a message is offered

struct Buffers {
    std::vector<int> out, in;
    Buffers(int rank, int size) : out(count * size_t(size)), in(count * size_t(size), -1) {
        for (size_t i = 0; i < out.size(); i++)
            out[i] = rank + int(i);
    }
};

using Start = void (*)(Buffers &buffers, weft_comm *comm, weft_request **request);

const std::pair<const char *, Start> collectives[] = {
    {"weft_ibarrier", [](Buffers &, weft_comm *comm, weft_request **request) { weft_ibarrier(comm, request); }},
    {"weft_ibcast",
     [](Buffers &b, weft_comm *comm, weft_request **request) {
         b.in = b.out;
         weft_ibcast(b.in.data(), count, WEFT_INT, weft_size(comm) / 2, comm, request);
     }},
    {"weft_iallreduce",
     [](Buffers &b, weft_comm *comm, weft_request **request) {
         weft_iallreduce(b.out.data(), b.in.data(), count, WEFT_INT, WEFT_SUM, comm, request);
     }},
    {"weft_ialltoall",
     [](Buffers &b, weft_comm *comm, weft_request **request) {
         weft_ialltoall(b.out.data(), count, WEFT_INT, b.in.data(), count, WEFT_INT, comm, request);
     }},
    {"weft_iscan",
     [](Buffers &b, weft_comm *comm, weft_request **request) {
         weft_iscan(b.out.data(), b.in.data(), count, WEFT_INT, WEFT_SUM, comm, request);
     }},
    {"weft_allreduce_init",
     [](Buffers &b, weft_comm *comm, weft_request **request) {
         weft_allreduce_init(b.out.data(), b.in.data(), count, WEFT_INT, WEFT_SUM, comm, request);
         weft_start(request);
     }},
};

// What stands in element i of the result.
int expected(size_t kind, int rank, int size, int i) {
    switch (kind) {
    case 0:
        return -1;
    case 1:
        return i < int(count) ? size / 2 + i : rank + i;
    case 3:
        return i / int(count) + rank * int(count) + i % int(count);
    case 4:
        return i < int(count) ? rank * (rank + 1) / 2 + (rank + 1) * i : -1;
    default:
        return i < int(count) ? size * (size - 1) / 2 + size * i : -1;
    }
}

void check(size_t kind, const Buffers &buffers, weft_comm *comm) {
    bool right = true;
    for (size_t i = 0; i < buffers.in.size(); i++)
        right &= buffers.in[i] == expected(kind, weft_rank(comm), weft_size(comm), int(i));
    job::check(right, comm, collectives[kind].first);
}

class Lending : public ::testing::TestWithParam<std::tuple<Threads, weft_thread_level>> {
  protected:
    JobShape shape() const {
        JobShape shape{std::get<0>(GetParam()), std::get<1>(GetParam())};
        shape.progress = true;
        return shape;
    }
};

std::string name_of(const ::testing::TestParamInfo<Lending::ParamType> &info) {
    return shape_name({std::get<0>(info.param), info.index}) + level_name(std::get<1>(info.param));
}

} // namespace

TEST_P(Lending, Collectives) {
    threads::Watchdog watchdog(100);
    JobShape job = shape();
    for (size_t kind = 0; kind < std::size(collectives); kind++)
        for (int waits : {0, job.ranks() - 1}) {
            Outside outside;
            SimWorlds(job).run([&](weft_comm *comm) {
                for (int round = 1; round <= effort::rounds(8); round++) {
                    Buffers buffers(weft_rank(comm), weft_size(comm));
                    weft_request *request = nullptr;
                    collectives[kind].second(buffers, comm, &request);
                    if (weft_rank(comm) != waits)
                        outside.wait_for(round);
                    job::ok(weft_wait(&request, nullptr), comm, collectives[kind].first);
                    if (weft_rank(comm) == waits)
                        outside.over();
                    check(kind, buffers, comm);
                    if (request)
                        job::ok(weft_request_free(&request), comm, "weft_request_free");
                }
            });
        }
}

// On a duplicate, while on the team there is a blocking collective in between.
TEST_P(Lending, BehindABlockingCall) {
    threads::Watchdog watchdog(100);
    Outside outside;
    SimWorlds(shape()).run([&](weft_comm *team) {
        weft_comm *comm = nullptr;
        job::ok(weft_comm_dup(team, &comm), team, "weft_comm_dup");
        for (int round = 1; round <= effort::rounds(8); round++) {
            Buffers buffers(weft_rank(comm), weft_size(comm));
            weft_request *request = nullptr;
            collectives[2].second(buffers, comm, &request);
            job::ok(weft_barrier(team), team, "weft_barrier");
            if (weft_rank(comm))
                outside.wait_for(round);
            for (int done = 0; !done;)
                job::ok(weft_test(&request, &done, nullptr), comm, "weft_test");
            if (!weft_rank(comm))
                outside.over();
            check(2, buffers, comm);
        }
        job::ok(weft_comm_free(&comm), team, "weft_comm_free");
    });
}

TEST_P(Lending, Messages) {
    threads::Watchdog watchdog(100);
    JobShape job = shape();
    int last = job.ranks() - 1;
    for (bool sends : {false, true}) {
        Outside outside;
        SimWorlds(job).run([&](weft_comm *comm) {
            int rank = weft_rank(comm);
            for (int round = 1; round <= effort::rounds(8); round++) {
                Buffers buffers(round, 1);
                weft_request *request = nullptr;
                if (rank == 0) {
                    job::ok(sends ? weft_isend(buffers.out.data(), count, WEFT_INT, last, 1, comm, &request)
                                  : weft_irecv(buffers.in.data(), count, WEFT_INT, last, 1, comm, &request),
                            comm, "weft_isend or weft_irecv");
                    outside.wait_for(round);
                    job::ok(weft_wait(&request, nullptr), comm, "weft_wait");
                } else if (rank == last) {
                    job::ok(sends ? weft_recv(buffers.in.data(), count, WEFT_INT, 0, 1, comm, nullptr)
                                  : weft_ssend(buffers.out.data(), count, WEFT_INT, 0, 1, comm),
                            comm, "weft_recv or weft_ssend");
                    outside.over();
                }
                if (rank == (sends ? last : 0))
                    job::check(buffers.in == buffers.out, comm, "what was received");
            }
        });
    }
}

// Whatever was called last, also in vain.
TEST_P(Lending, AfterAnyCall) {
    threads::Watchdog watchdog(100);
    JobShape job = shape();
    const int last = job.ranks() - 1;
    std::vector<char> room(1000);
    const std::function<int(weft_comm *)> calls[] = {
        [](weft_comm *comm) { return weft_send(nullptr, 1, WEFT_INT, 0, 1, comm) ? WEFT_SUCCESS : -1; },
        [](weft_comm *comm) {
            int nothing;
            weft_request *request = nullptr;
            int code = weft_irecv(&nothing, 1, WEFT_INT, 0, 9, comm, &request);
            code = code ? code : weft_cancel(&request);
            return code ? code : weft_wait(&request, nullptr);
        },
        [](weft_comm *comm) {
            int nothing;
            weft_request *request = nullptr;
            int code = weft_recv_init(&nothing, 1, WEFT_INT, 0, 9, comm, &request);
            return code ? code : weft_request_free(&request);
        },
        [&](weft_comm *comm) { return weft_comm_attach_buffer(comm, room.data(), room.size()); },
        [](weft_comm *comm) {
            void *buffer;
            size_t bytes;
            return weft_comm_detach_buffer(comm, &buffer, &bytes);
        },
        [](weft_comm *) {
            weft_request *request = nullptr;
            return weft_wait(&request, nullptr);
        },
    };
    Outside outside;
    SimWorlds(job).run([&](weft_comm *comm) {
        int round = 0;
        for (const auto &call : calls) {
            Buffers buffers(++round, 1);
            weft_request *request = nullptr;
            if (weft_rank(comm) == 0) {
                job::ok(weft_irecv(buffers.in.data(), count, WEFT_INT, last, 1, comm, &request), comm, "weft_irecv");
                job::ok(call(comm), comm, "call " + std::to_string(round));
                outside.wait_for(round);
                job::ok(weft_wait(&request, nullptr), comm, "weft_wait");
                job::check(buffers.in == buffers.out, comm, "what was received");
            } else if (weft_rank(comm) == last) {
                job::ok(weft_ssend(buffers.out.data(), count, WEFT_INT, 0, 1, comm), comm, "weft_ssend");
                outside.over();
            }
        }
    });
}

// What is wrong is found by the progress thread, and told where the rank waits.
TEST_P(Lending, Mismatch) {
    threads::Watchdog watchdog(100);
    JobShape job = shape();
    SimWorlds(job).run([&](weft_comm *team) {
        weft_comm *comm = nullptr;
        job::ok(weft_comm_dup(team, &comm), team, "weft_comm_dup");
        Buffers buffers(weft_rank(comm), weft_size(comm));
        weft_request *request = nullptr;
        collectives[weft_rank(comm) ? 2 : 1].second(buffers, comm, &request);
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        EXPECT_EQ(WEFT_ERR_MISMATCH, weft_wait(&request, nullptr));
        EXPECT_NE(std::string(weft_last_error()).find("weft_ibcast"), std::string::npos) << weft_last_error();
        (void)weft_comm_free(&comm);
    });
}

INSTANTIATE_TEST_SUITE_P(Shapes, Lending,
                         ::testing::Combine(::testing::Values(Threads{2}, Threads{3}, Threads{8}, Threads{2, 2},
                                                              Threads{1, 3, 2}),
                                            ::testing::Values(WEFT_THREAD_SERIALIZED, WEFT_THREAD_MULTIPLE)),
                         name_of);
