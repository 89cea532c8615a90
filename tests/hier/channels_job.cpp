// SPDX-License-Identifier: BSD-3-Clause
// The thread level that a job of processes is given: MULTIPLE where all ask for it, else what each can have without. And UCX
// workers of threads that are opened and closed again and again. With the argument `unused`: first messages to threads that wait for
// something else, each in another way.
#include <cstdio>
#include <cstdlib>
#include <cstring>
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

void start(weft_thread_level level) {
    weft_options options{};
    options.thread_level = level;
    if (weft_init(&options) == WEFT_SUCCESS)
        return;
    fprintf(stderr, "%s\n", weft_last_error());
    exit(1);
}

// Asks for a level, and expects to be given one.
void run(weft_thread_level level, weft_thread_level expected, int threads) {
    start(level);
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

weft_request *begin_barrier(weft_comm *comm) {
    weft_request *request = nullptr;
    expect(weft_ibarrier(comm, &request) == WEFT_SUCCESS, "weft_ibarrier");
    return request;
}

void test_barrier(weft_comm *comm) {
    weft_request *request = begin_barrier(comm);
    for (int done = 0; !done;)
        expect(weft_test(&request, &done, nullptr) == WEFT_SUCCESS, "weft_test");
}

void wait_for_two(weft_comm *comm) {
    weft_request *requests[] = {begin_barrier(comm), begin_barrier(comm)};
    expect(weft_waitall(2, requests, nullptr) == WEFT_SUCCESS, "weft_waitall");
}

// With WEFT_SLOTS=2 the barrier has no slot until the first of those before it is over.
void wait_for_slot(weft_comm *comm) {
    weft_request *requests[] = {begin_barrier(comm), begin_barrier(comm)};
    expect(weft_barrier(comm) == WEFT_SUCCESS, "weft_barrier");
    expect(weft_waitall(2, requests, nullptr) == WEFT_SUCCESS, "weft_waitall");
}

void wait_in_barrier(weft_comm *comm) {
    expect(weft_barrier(comm) == WEFT_SUCCESS, "weft_barrier");
}

// How all meet, in which one thread is sent its first message; `alone`: for each process that thread or rank 0, by the process communicator.
const struct form {
    const char *name;
    void (*meet)(weft_comm *comm);
    bool alone;
} forms[] = {{"barrier", wait_in_barrier, false},        {"test", test_barrier, false},
             {"waitall", wait_for_two, false},           {"slot", wait_for_slot, false},
             {"process barrier", wait_in_barrier, true}, {"process test", test_barrier, true}};
constexpr int FORMS = sizeof(forms) / sizeof(*forms);

// Rank 0 is alone in its process, those after it are in the other one. What it sends takes part of who receives: to connect.
void meet_unused(weft_team *team, int thread) {
    weft_comm *comm = nullptr;
    expect(weft_team_enter(team, thread, &comm) == WEFT_SUCCESS, "weft_team_enter");
    const int rank = weft_rank(comm);
    for (int to = 1; to <= FORMS; to++) {
        const form &form = forms[to - 1];
        int value = 0;
        if (rank == 0)
            expect(weft_send(&to, 1, WEFT_INT, to, 0, comm) == WEFT_SUCCESS, form.name);
        if (!form.alone || rank == 0 || rank == to)
            form.meet(form.alone ? weft_process_comm() : comm);
        if (rank == to)
            expect(weft_recv(&value, 1, WEFT_INT, 0, 0, comm, nullptr) == WEFT_SUCCESS && value == to, form.name);
    }
    expect(weft_barrier(comm) == WEFT_SUCCESS, "weft_barrier");
    expect(weft_team_leave(&comm) == WEFT_SUCCESS, "weft_team_leave");
}

void run_unused(int threads) {
    start(WEFT_THREAD_MULTIPLE);
    expect(weft_thread_level_get() == WEFT_THREAD_MULTIPLE, "the level that was given");
    weft_team *team = nullptr;
    expect(weft_team_create(weft_process_comm(), threads, &team) == WEFT_SUCCESS, "weft_team_create");
    std::vector<std::thread> others;
    for (int thread = 1; thread < threads; thread++)
        others.emplace_back(meet_unused, team, thread);
    meet_unused(team, 0);
    for (auto &other : others)
        other.join();
    expect(weft_team_free(&team) == WEFT_SUCCESS, "weft_team_free");
    expect(weft_finalize() == WEFT_SUCCESS, "weft_finalize");
}

} // namespace

int main(int count, char **arguments) {
    const char *text = getenv("PMIX_RANK");
    int rank = text ? atoi(text) : 0;
    if (count > 1 && !strcmp(arguments[1], "unused")) {
        run_unused(rank == 0 ? 1 : FORMS);
        return failures != 0;
    }
    weft_thread_level other = rank == 1 ? WEFT_THREAD_SERIALIZED : WEFT_THREAD_MULTIPLE;
    run(other, WEFT_THREAD_SERIALIZED, 2);
    other = rank == 1 ? WEFT_THREAD_FUNNELED : WEFT_THREAD_MULTIPLE;
    run(other, rank == 1 ? WEFT_THREAD_FUNNELED : WEFT_THREAD_SERIALIZED, 1);
    run(WEFT_THREAD_MULTIPLE, WEFT_THREAD_MULTIPLE, 1 + rank);
    return failures != 0;
}
