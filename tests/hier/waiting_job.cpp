// SPDX-License-Identifier: BSD-3-Clause
// Sixteen ranks that wait with WEFT_WAIT=block leave the cores to others: together they use less than a twentieth of one, because they
// seldom wake up. And who sleeps is woken by what it waits for.
#include "oracle_job.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <sys/resource.h>
#include <thread>

namespace {

double seconds(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

void sleep_for(double time) {
    std::this_thread::sleep_for(std::chrono::duration<double>(time));
}

// What this process takes of the cores while its ranks wait.
struct taken {
    double share;    // of one core
    double wake_ups; // a second
};

double times_slept() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return double(usage.ru_nvcsw);
}

taken taken_in(double time) {
    double began = seconds(CLOCK_MONOTONIC), used = seconds(CLOCK_PROCESS_CPUTIME_ID), slept = times_slept();
    sleep_for(time);
    double passed = seconds(CLOCK_MONOTONIC) - began;
    return {(seconds(CLOCK_PROCESS_CPUTIME_ID) - used) / passed, (times_slept() - slept) / passed};
}

// The ranks began to wait a moment ago. The least of three: what else the machine does makes each wake-up dearer, and leaders sleep
// longer when they have waited for half a second.
taken taken_by_waiting() {
    sleep_for(0.3);
    taken least = taken_in(0.4);
    for (int again = 0; again < 2; again++) {
        taken next = taken_in(0.4);
        least = {std::min(least.share, next.share), std::min(least.wake_ups, next.wake_ups)};
    }
    return least;
}

// All ranks wait for the last one, which is late, in `wait`, after `before`.
void wait_for_last(const std::function<int(weft_comm *, bool last)> &wait, const std::string &what,
                   const std::function<void(weft_comm *, bool last)> &before = {}) {
    std::atomic<bool> begun{false};
    taken used{};
    std::thread watcher([&] {
        while (!begun)
            sleep_for(0.01);
        used = taken_by_waiting();
    });
    job::on_team([&](weft_comm *comm) {
        bool last = weft_rank(comm) == weft_size(comm) - 1;
        if (before)
            before(comm, last);
        job::ok(weft_barrier(comm), comm, what);
        begun = true;
        if (last)
            sleep_for(2);
        job::ok(wait(comm, last), comm, what);
    });
    watcher.join();
    taken all{};
    EXPECT_EQ(weft_allreduce(&used, &all, 2, WEFT_DOUBLE, WEFT_SUM, weft_process_comm()), WEFT_SUCCESS);
    // Awake for 20 us a time, as measured, they take 2 % of a core; 1000 times a second a twentieth is 50 us each. Beside other tests, whose
    // memory is in the caches then, one of them takes up to 80 us, which is why the share itself may be twice a twentieth here.
    EXPECT_LT(all.wake_ups, 1000) << what << ", of which process " << weft_rank(weft_process_comm()) << " "
                                  << used.wake_ups;
    EXPECT_LT(all.share, 0.1) << what << ", of which process " << weft_rank(weft_process_comm()) << " used "
                              << used.share;
}

} // namespace

// With mail, which nobody looks for before the barrier is over.
TEST(Waiting, InABarrier) {
    static int sent = 1;
    const auto send_to_all = [](weft_comm *comm, bool last) {
        for (int rank = weft_rank(comm) - 1; last && rank >= 0; rank--)
            job::ok(weft_send(&sent, 1, WEFT_INT, rank, 1, comm), comm, "send");
    };
    const auto wait_and_receive = [](weft_comm *comm, bool last) {
        int got = 0, code = weft_barrier(comm);
        return code || last ? code : weft_recv(&got, 1, WEFT_INT, weft_size(comm) - 1, 1, comm, WEFT_STATUS_IGNORE);
    };
    wait_for_last(wait_and_receive, "barrier", send_to_all);
}

TEST(Waiting, ForARequest) {
    wait_for_last(
        [](weft_comm *comm, bool) {
            int value = 0, sum = 0;
            weft_request *request = WEFT_REQUEST_NULL;
            int code = weft_iallreduce(&value, &sum, 1, WEFT_INT, WEFT_SUM, comm, &request);
            return code ? code : weft_wait(&request, WEFT_STATUS_IGNORE);
        },
        "iallreduce");
}

TEST(Waiting, ForAMessage) {
    wait_for_last(
        [](weft_comm *comm, bool last) {
            int value = 0, self = weft_rank(comm), code = WEFT_SUCCESS;
            if (!last)
                return weft_recv(&value, 1, WEFT_INT, WEFT_ANY_SOURCE, 1, comm, WEFT_STATUS_IGNORE);
            for (int rank = 0; rank < self && !code; rank++)
                code = weft_send(&value, 1, WEFT_INT, rank, 1, comm);
            return code;
        },
        "recv");
}

// Of broadcasts, whose root is soon ahead of the others by all slots. They take about a tenth of a millisecond each: were it the nap that
// ends a sleep, it would be five of them with two slots, and all longer than this may.
TEST(Waiting, ForASlot) {
    job::on_team([](weft_comm *comm) {
        const bool root = weft_rank(comm) == 0;
        for (uint64_t round = 0; round < 20000; round++) {
            uint64_t value = root ? round : 0;
            job::ok(weft_bcast(&value, 1, WEFT_UINT64_T, 0, comm), comm, "bcast");
            EXPECT_EQ(value, round);
            if (!root)
                sleep_for(0.00005);
        }
    });
}

// Of gathers, whose threads leave when they have given theirs: were it the nap that ends a sleep, each would take 10 ms, and all of them
// longer than this may.
TEST(Waiting, WhoSleepsIsWoken) {
    constexpr size_t words = 1024;
    job::on_team([](weft_comm *comm) {
        const int self = weft_rank(comm), ranks = weft_size(comm);
        std::vector<uint64_t> own(words), all(words * size_t(ranks));
        for (uint64_t round = 0; round < 5000; round++)
            for (int root : {0, ranks - 1}) {
                own.front() = own.back() = round * 1000 + uint64_t(self);
                job::ok(weft_gather(own.data(), words, WEFT_UINT64_T, all.data(), words, WEFT_UINT64_T, root, comm),
                        comm, "gather");
                for (int rank = 0; self == root && rank < ranks; rank++)
                    EXPECT_EQ(all[words * size_t(rank + 1) - 1], round * 1000 + uint64_t(rank));
            }
    });
}

// Who sleeps in a collective takes what it is sent: the last rank sends it so much that it has to be there for it. Were it the nap that ends its
// sleep, each would take 10 ms, and all of them longer than this may.
TEST(Waiting, InABarrierMessagesAreTaken) {
    constexpr size_t words = 1024;
    job::on_team([](weft_comm *comm) {
        const int self = weft_rank(comm), last = weft_size(comm) - 1;
        std::vector<uint64_t> sent(words), got(words);
        for (uint64_t round = 0; round < 5000; round++)
            for (int to : {0, last - 1}) {
                weft_request *request = WEFT_REQUEST_NULL;
                sent.front() = sent.back() = round;
                if (self == to)
                    job::ok(weft_irecv(got.data(), words, WEFT_UINT64_T, last, 1, comm, &request), comm, "irecv");
                if (self == last) {
                    sleep_for(0.00005);
                    job::ok(weft_send(sent.data(), words, WEFT_UINT64_T, to, 1, comm), comm, "send");
                }
                job::ok(weft_barrier(comm), comm, "barrier");
                job::ok(weft_wait(&request, WEFT_STATUS_IGNORE), comm, "wait");
                EXPECT_TRUE(self != to || (got.front() == round && got.back() == round));
            }
    });
}
