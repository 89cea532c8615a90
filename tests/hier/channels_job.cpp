// SPDX-License-Identifier: BSD-3-Clause
// The thread level that a job of processes is given: MULTIPLE where all ask for it, else what each can have without. And UCX
// workers of threads that are opened and closed again and again.
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>
#include <weft/weft.h>

namespace {

int failures;

void expect(bool holds, const char *what) {
    if (holds)
        return;
    fprintf(stderr, "%s (%s)\n", what, weft_last_error());
    failures++;
}

void exchange(weft_team *team, int thread) {
    weft_comm *comm = nullptr;
    expect(weft_team_enter(team, thread, &comm) == WEFT_SUCCESS, "weft_team_enter");
    int rank = weft_rank(comm), size = weft_size(comm);
    std::vector<int> out(50000, rank), in(50000, -1);
    // A short one, to who is in a barrier and has not used messages yet.
    if (rank == 0)
        expect(weft_send(out.data(), 1, WEFT_INT, size - 1, 0, comm) == WEFT_SUCCESS, "weft_send");
    expect(weft_barrier(comm) == WEFT_SUCCESS, "weft_barrier");
    if (rank == size - 1)
        expect(weft_recv(in.data(), 1, WEFT_INT, 0, 0, comm, nullptr) == WEFT_SUCCESS && in[0] == 0, "weft_recv");
    for (size_t count : {size_t(1), size_t(500), out.size()})
        for (int distance = 1; distance < size; distance++) {
            int to = (rank + distance) % size, from = (rank + size - distance) % size;
            expect(weft_sendrecv(out.data(), count, WEFT_INT, to, distance, in.data(), count, WEFT_INT, from, distance,
                                 comm, nullptr) == WEFT_SUCCESS,
                   "weft_sendrecv");
            expect(in[0] == from && in[count - 1] == from, "what was received");
        }
    expect(weft_barrier(comm) == WEFT_SUCCESS, "weft_barrier"); // under FUNNELED thread 0 moves the others' messages
    expect(weft_team_leave(&comm) == WEFT_SUCCESS, "weft_team_leave");
}

// Asks for a level, and expects to be given one.
void run(weft_thread_level level, weft_thread_level expected, int threads) {
    weft_options options{};
    options.thread_level = level;
    if (weft_init(&options) != WEFT_SUCCESS) {
        fprintf(stderr, "%s\n", weft_last_error());
        exit(1);
    }
    expect(weft_thread_level_get() == expected, "the level that was given");
    for (int round = 0; round < 3; round++) {
        weft_team *team = nullptr;
        expect(weft_team_create(weft_process_comm(), threads + round, &team) == WEFT_SUCCESS, "weft_team_create");
        std::vector<std::thread> others;
        for (int thread = 1; thread < threads + round; thread++)
            others.emplace_back(exchange, team, thread);
        exchange(team, 0);
        for (auto &other : others)
            other.join();
        expect(weft_team_free(&team) == WEFT_SUCCESS, "weft_team_free");
    }
    expect(weft_finalize() == WEFT_SUCCESS, "weft_finalize");
}

} // namespace

int main() {
    const char *text = getenv("PMIX_RANK");
    int rank = text ? atoi(text) : 0;
    weft_thread_level other = rank == 1 ? WEFT_THREAD_SERIALIZED : WEFT_THREAD_MULTIPLE;
    run(other, WEFT_THREAD_SERIALIZED, 2);
    other = rank == 1 ? WEFT_THREAD_FUNNELED : WEFT_THREAD_MULTIPLE;
    run(other, rank == 1 ? WEFT_THREAD_FUNNELED : WEFT_THREAD_SERIALIZED, 1);
    run(WEFT_THREAD_MULTIPLE, WEFT_THREAD_MULTIPLE, 1 + rank);
    return failures != 0;
}
