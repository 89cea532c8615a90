// SPDX-License-Identifier: BSD-3-Clause
#include "messages_progression.h"
#include "effort.h"
#include "oracle_job.h"

#include <chrono>
#include <thread>
#include <vector>

namespace progression {

namespace {

constexpr int release_tag = 4000, finished_tag = 4001;

std::vector<unsigned char> contents(size_t bytes, int from, int number) {
    std::vector<unsigned char> made(bytes);
    job::fill(made.data(), bytes, job::hash(uint64_t(from), uint64_t(number)));
    return made;
}

// A token to `peer` and one from it; what both can do at once.
void exchange(weft_comm *comm, int peer, int number) {
    static constexpr size_t lengths[] = {0, 8, 1000, 70000, 8};
    size_t bytes = lengths[number % 5];
    std::vector<unsigned char> out = contents(bytes, weft_rank(comm), number), in(bytes);
    weft_request *requests[2] = {nullptr, nullptr};
    weft_status statuses[2];
    job::ok(weft_irecv(in.data(), bytes, WEFT_BYTE, number % 3 ? peer : WEFT_ANY_SOURCE, number, comm, &requests[0]),
            comm, "weft_irecv");
    auto send = number % 2 ? weft_issend : weft_isend;
    job::ok(send(out.data(), bytes, WEFT_BYTE, peer, number, comm, &requests[1]), comm, "weft_isend");
    job::ok(weft_waitall(2, requests, statuses), comm, "weft_waitall");
    job::check(statuses[0].source == peer && statuses[0].tag == number && statuses[0].bytes == bytes, comm,
               "the status of message " + std::to_string(number));
    job::check(in == contents(bytes, peer, number), comm, "the contents of message " + std::to_string(number));
}

// Until all the others of both processes say that they are through.
void sit(weft_comm *comm, Gate &gate, Blocked where, int others) {
    int token = 0;
    if (where == OUTSIDE)
        gate.pass(others);
    if (where == IN_PROBE)
        job::ok(weft_probe(WEFT_ANY_SOURCE, release_tag, comm, nullptr), comm, "weft_probe");
    job::ok(weft_recv(&token, 1, WEFT_INT, WEFT_ANY_SOURCE, release_tag, comm, nullptr), comm, "weft_recv");
    job::check(token == 1, comm, "what the blocked thread receives at the end");
}

// The thread that answers the blocked ones once all have come to their end.
void release(weft_comm *comm, int threads, int blocked) {
    int token = 1, ranks = weft_size(comm);
    for (int finished = 0; finished < ranks - ranks / threads - 1; finished++)
        job::ok(weft_recv(nullptr, 0, WEFT_INT, WEFT_ANY_SOURCE, finished_tag, comm, nullptr), comm, "weft_recv");
    for (int first = 0; first < ranks; first += threads)
        job::ok(weft_send(&token, 1, WEFT_INT, first + blocked, release_tag, comm), comm, "weft_send");
}

} // namespace

void Gate::open() {
    std::lock_guard<std::mutex> guard(lock_);
    openings_++;
    opened_.notify_all();
}

void Gate::pass(int times) {
    std::unique_lock<std::mutex> guard(lock_);
    opened_.wait(guard, [&] { return openings_ >= times; });
}

void exchange_beside(weft_comm *comm, Gate &gate, int blocked, Blocked where, int messages) {
    int threads = weft_node_threads(comm, 0), rank = weft_rank(comm), leader = blocked == 0 ? 1 : 0;
    if (rank % threads == blocked) {
        sit(comm, gate, where, threads - 1);
    } else {
        for (int number = 0; number < messages; number++)
            exchange(comm, (rank + threads) % weft_size(comm), number);
        gate.open();
        if (rank == leader)
            release(comm, threads, blocked);
        else
            job::ok(weft_send(nullptr, 0, WEFT_INT, leader, finished_tag, comm), comm, "weft_send");
    }
    // Under FUNNELED the others need the leader's help to their end.
    job::ok(weft_barrier(comm), comm, "weft_barrier");
}

void receive_behind_barrier(weft_comm *comm, int receiver) {
    int rank = weft_rank(comm), last = weft_size(comm) - 1;
    for (size_t bytes : {size_t(8), effort::rounds(size_t(3) << 20)})
        for (bool early : {true, false}) {
            std::vector<unsigned char> data = contents(bytes, last, int(bytes)), in(bytes);
            weft_request *request = nullptr;
            if (!early)
                job::ok(weft_barrier(comm), comm, "weft_barrier");
            if (rank == receiver)
                job::ok(weft_irecv(in.data(), bytes, WEFT_BYTE, last, 5, comm, &request), comm, "weft_irecv");
            // Complete before the last rank comes to the barrier in which the receiver sits.
            if (rank == last)
                job::ok(weft_ssend(data.data(), bytes, WEFT_BYTE, receiver, 5, comm), comm, "weft_ssend");
            job::ok(weft_barrier(comm), comm, "weft_barrier");
            if (rank == receiver) {
                job::ok(weft_wait(&request, nullptr), comm, "weft_wait");
                job::check(in == data, comm, "what came while the receiver sat in the barrier");
            }
        }
}

void receive_beside_short_ones(weft_comm *comm, int from, weft_comm *on) {
    const size_t bytes = size_t(1) << 20;
    const int rank = weft_rank(comm), word_tag = 1, through_tag = 2, data_tag = 3;
    std::vector<unsigned char> data = contents(bytes, from, 77), in(bytes);
    weft_request *request = nullptr;
    int64_t word = 0; // 1: the last one
    if (rank == 0)
        job::ok(weft_irecv(in.data(), bytes, WEFT_BYTE, from, data_tag, on, &request), comm, "weft_irecv");
    job::ok(weft_barrier(comm), comm, "weft_barrier");
    if (rank == from && from != 1) {
        job::ok(weft_send(data.data(), bytes, WEFT_BYTE, 0, data_tag, on), comm, "weft_send");
        job::ok(weft_send(&word, 1, WEFT_INT64_T, 1, through_tag, comm), comm, "weft_send");
    }
    if (rank == 1 && from == 1)
        job::ok(weft_isend(data.data(), bytes, WEFT_BYTE, 0, data_tag, on, &request), comm, "weft_isend");
    while (rank == 1 && word == 0) {
        int through = 0;
        job::ok(from == 1 ? weft_test(&request, &through, nullptr)
                          : weft_iprobe(from, through_tag, comm, &through, nullptr),
                comm, "is it through?");
        word = through;
        job::ok(weft_send(&word, 1, WEFT_INT64_T, 0, word_tag, comm), comm, "weft_send");
        job::ok(weft_recv(&word, 1, WEFT_INT64_T, 0, word_tag, comm, nullptr), comm, "weft_recv");
    }
    while (rank == 0 && word == 0) {
        job::ok(weft_recv(&word, 1, WEFT_INT64_T, 1, word_tag, comm, nullptr), comm, "weft_recv");
        job::ok(weft_send(&word, 1, WEFT_INT64_T, 1, word_tag, comm), comm, "weft_send");
    }
    if (rank == 1 && from != 1)
        job::ok(weft_recv(&word, 1, WEFT_INT64_T, from, through_tag, comm, nullptr), comm, "weft_recv");
    job::ok(weft_wait(&request, nullptr), comm, "weft_wait");
    if (rank == 0)
        job::check(in == data, comm, "what came beside short messages");
    job::ok(weft_barrier(comm), comm, "weft_barrier");
}

void team_behind_barrier(weft_comm *comm, weft_comm *processes) {
    static constexpr size_t count = 40000; // by slices, and offered
    bool waits = weft_node(comm) == 1, leads = weft_thread(comm) == 0;
    int beside = leads ? weft_rank(comm) + 1 : weft_rank(comm) - 1;
    std::vector<int> mine(count, weft_rank(comm)), sum(count), in(count);
    weft_request *requests[2] = {nullptr, nullptr};
    if (!leads) // late: the leaders have done what they can
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    job::ok(weft_iallreduce(mine.data(), sum.data(), count, WEFT_INT, WEFT_SUM, comm, &requests[0]), comm, "start");
    if (leads) {
        job::ok(weft_irecv(in.data(), count, WEFT_INT, beside, 3, comm, &requests[1]), comm, "weft_irecv");
        if (waits)
            job::ok(weft_waitall(2, requests, nullptr), comm, "weft_waitall");
        job::ok(weft_barrier(processes), comm, "the barrier of processes");
    } else {
        job::ok(weft_ssend(mine.data(), count, WEFT_INT, beside, 3, comm), comm, "weft_ssend");
    }
    job::ok(weft_waitall(2, requests, nullptr), comm, "weft_waitall");
    job::check(sum == std::vector<int>(count, 6), comm, "the sum");
    job::check(!leads || in == std::vector<int>(count, beside), comm, "what was received");
}

// A token from each of the other threads of the process.
void receive_within(weft_comm *within, Within how) {
    for (int from = 1; from < weft_size(within); from++) {
        weft_request *request = nullptr;
        int done = how != Within::test;
        if (how == Within::probe)
            job::ok(weft_probe(WEFT_ANY_SOURCE, 1, within, nullptr), within, "weft_probe");
        job::ok(weft_irecv(nullptr, 0, WEFT_INT, WEFT_ANY_SOURCE, 1, within, &request), within, "weft_irecv");
        while (!done)
            job::ok(weft_test(&request, &done, nullptr), within, "weft_test");
        job::ok(weft_wait(&request, nullptr), within, "weft_wait");
    }
}

void processes_behind_barrier(weft_comm *comm, weft_comm *processes, Gate &gate, Within how) {
    bool leads = weft_thread(comm) == 0, first = weft_node(comm) == 0;
    weft_comm *within = nullptr;
    weft_request *request = nullptr;
    job::ok(weft_comm_split(comm, weft_node(comm), 0, &within), comm, "weft_comm_split");
    if (leads)
        job::ok(weft_ibarrier(processes, &request), comm, "weft_ibarrier");
    if (first && !leads)
        gate.pass(weft_nodes(comm) - 1);
    if (first && how == Within::barrier)
        job::ok(weft_barrier(within), comm, "the barrier within");
    else if (first && leads)
        receive_within(within, how);
    else if (first)
        job::ok(weft_send(nullptr, 0, WEFT_INT, 0, 1, within), comm, "weft_send");
    job::ok(weft_wait(&request, nullptr), comm, "weft_wait");
    if (!first && leads)
        gate.open();
    job::ok(weft_comm_free(&within), comm, "weft_comm_free");
}

} // namespace progression
