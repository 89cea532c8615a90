// SPDX-License-Identifier: BSD-3-Clause
// Progression in a job of processes: of threads beside a blocked one, of messages behind a barrier, and by the progress thread.
#include "effort.h"
#include "messages_progression.h"
#include "oracle_job.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

bool has_progress_thread() {
    const char *progress = getenv("WEFT_PROGRESS");
    return progress && strcmp(progress, "thread") == 0;
}

TEST(Beside, OneBlockedThread) {
    if (weft_size(weft_process_comm()) != 2 || job::threads() < 3)
        GTEST_SKIP() << "two processes of three threads";
    bool funneled = weft_thread_level_get() == WEFT_THREAD_FUNNELED;
    for (int blocked : {0, job::threads() - 1})
        for (auto where : {progression::IN_RECEIVE, progression::IN_PROBE, progression::OUTSIDE})
            if (where != progression::OUTSIDE || blocked > 0 || !funneled) {
                progression::Gate gate;
                job::on_team([&](weft_comm *comm) { progression::exchange_beside(comm, gate, blocked, where, 200); });
            }
}

TEST(Beside, ReceiveBehindABarrier) {
    int last_of_first = job::threads() - 1;
    job::on_both([](weft_comm *comm) { progression::receive_behind_barrier(comm, 0); });
    job::on_team([&](weft_comm *comm) { progression::receive_behind_barrier(comm, last_of_first); });
}

// The progress thread fetches what has come for a thread's receives, which come by the network, when that thread calls weft again.
void receive_beside_offers(weft_comm *comm, int round) {
    constexpr size_t messages = 2000, bytes = 20000;
    weft_comm *processes = weft_process_comm();
    const int rank = weft_rank(comm), last = weft_size(comm) - 1;
    std::vector<unsigned char> in(rank == 0 ? messages * bytes : 0), out(bytes);
    std::vector<weft_request *> requests(messages);
    for (size_t i = 0; i < messages && (rank == 0 || rank == last); i++)
        job::ok(rank ? weft_issend(out.data(), bytes, WEFT_BYTE, 0, int(i), comm, &requests[i])
                     : weft_irecv(&in[i * bytes], bytes, WEFT_BYTE, last, int(i), comm, &requests[i]),
                comm, "weft_issend or weft_irecv");
    if (rank == 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(200 + round * 731 % 3000));
        job::ok(weft_recv(&round, 1, WEFT_INT, weft_size(processes) - 1, 2, processes, nullptr), comm, "weft_recv");
    }
    if (rank == last) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        job::ok(weft_send(&round, 1, WEFT_INT, 0, 2, processes), comm, "weft_send");
    }
    job::ok(weft_waitall(messages, requests.data(), nullptr), comm, "weft_waitall");
    job::ok(weft_barrier(comm), comm, "weft_barrier");
}

TEST(Beside, TakenBackFromTheProgressThread) {
    if (!has_progress_thread() || weft_size(weft_process_comm()) == 1)
        GTEST_SKIP() << "WEFT_PROGRESS=thread, and several processes";
    job::on_team([](weft_comm *comm) {
        for (int round = 0; round < effort::rounds(60); round++)
            receive_beside_offers(comm, round);
    });
}

// Rank 0 has posted a receive and is outside of weft until it sees that the sender is through with it.
TEST(Beside, ComputingReceiver) {
    if (!has_progress_thread())
        GTEST_SKIP() << "WEFT_PROGRESS=thread";
    weft_comm *comm = weft_process_comm();
    int rank = weft_rank(comm);
    char folder[64] = "/tmp/weft_computing_XXXXXX";
    if (rank == 0) {
        ASSERT_NE(mkdtemp(folder), nullptr);
    }
    job::ok(weft_bcast(folder, sizeof(folder), WEFT_CHAR, 0, comm), comm, "weft_bcast");
    for (size_t bytes : {size_t(8), size_t(4) << 20}) {
        std::vector<unsigned char> out(bytes), in(bytes);
        job::fill(out.data(), bytes, bytes);
        std::string flag = std::string(folder) + "/" + std::to_string(bytes);
        weft_request *request = nullptr;
        if (rank == 0)
            job::ok(weft_irecv(in.data(), bytes, WEFT_BYTE, 1, 5, comm, &request), comm, "weft_irecv");
        job::ok(weft_barrier(comm), comm, "weft_barrier");
        if (rank == 1) {
            job::ok(weft_ssend(out.data(), bytes, WEFT_BYTE, 0, 5, comm), comm, "weft_ssend");
            std::ofstream(flag).put('1');
        }
        if (rank == 0) {
            while (access(flag.c_str(), F_OK) != 0)
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            job::ok(weft_wait(&request, nullptr), comm, "weft_wait");
            job::check(in == out, comm, "what came while rank 0 was outside of weft");
            unlink(flag.c_str());
        }
    }
    if (rank == 0)
        rmdir(folder);
}

} // namespace
