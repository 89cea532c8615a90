// SPDX-License-Identifier: BSD-3-Clause
// rollcall_job MODE FILE: jobs in which somebody is waited for until FILE is there. test_rollcall.cpp looks at what is reported.
// Where the processes share nothing but a directory (directory_bootstrap.h) FILE is the report, there, and the job looks itself.
#include "directory_bootstrap.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>
#include <weft/weft.h>

namespace {

std::string mode, file;

void expect(int code) {
    if (code == WEFT_SUCCESS)
        return;
    fprintf(stderr, "rollcall_job: %s\n", weft_last_error());
    exit(1);
}

DirectoryBootstrap directory;
weft_options options;

std::string text_of(const std::string &name) {
    std::ifstream in(name);
    return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

bool may_go_on() {
    return options.bootstrap ? text_of(file).find("missing") != std::string::npos : access(file.c_str(), F_OK) == 0;
}

void wait_outside() {
    while (!may_go_on())
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

void barrier(weft_comm *comm) {
    expect(weft_barrier(comm));
}

// The last rank comes late.
void skip(weft_comm *world, weft_comm *) {
    barrier(world);
    if (weft_rank(world) == weft_size(world) - 1)
        wait_outside();
    barrier(world);
}

// The first threads come late, and under FUNNELED they keep the others, who need nothing of them.
void stand_still(weft_comm *world, weft_comm *) {
    const int peer = (weft_rank(world) + 2) % 4;
    long out = 1, in = 0;
    barrier(world);
    if (weft_thread(world) == 0)
        wait_outside();
    expect(weft_sendrecv(&out, 1, WEFT_LONG, peer, 0, &in, 1, WEFT_LONG, peer, 0, world, WEFT_STATUS_IGNORE));
    barrier(world);
}

// The same with a nonblocking collective.
void skip_nonblocking(weft_comm *world, weft_comm *) {
    weft_request *request = WEFT_REQUEST_NULL;
    double value = 1, sum = 0;
    if (weft_rank(world) == weft_size(world) - 1)
        wait_outside();
    expect(weft_iallreduce(&value, &sum, 1, WEFT_DOUBLE, WEFT_SUM, world, &request));
    expect(weft_wait(&request, WEFT_STATUS_IGNORE));
}

void test(weft_request **request, int *done) {
    expect(weft_test(request, done, WEFT_STATUS_IGNORE));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// The others test, and never wait.
void skip_testing(weft_comm *world, weft_comm *) {
    weft_request *request = WEFT_REQUEST_NULL;
    double value = 1, sum = 0;
    if (weft_rank(world) == weft_size(world) - 1)
        wait_outside();
    expect(weft_iallreduce(&value, &sum, 1, WEFT_DOUBLE, WEFT_SUM, world, &request));
    for (int done = 0; !done;)
        test(&request, &done);
}

// The last rank tests for a while what nobody has sent, and then does something else; the others are in a barrier.
void stop_testing(weft_comm *world, weft_comm *) {
    weft_request *request = WEFT_REQUEST_NULL;
    int value = 0, done = 0, last = weft_size(world) - 1;
    if (weft_rank(world) == last) {
        expect(weft_irecv(&value, 1, WEFT_INT, 0, 1, world, &request));
        for (int i = 0; i < 100; i++)
            test(&request, &done);
        wait_outside();
    }
    barrier(world);
    if (weft_rank(world) == 0)
        expect(weft_send(&value, 1, WEFT_INT, last, 1, world));
    expect(weft_wait(&request, WEFT_STATUS_IGNORE));
    barrier(world);
}

// For ever: rank 1 is where nobody else is.
void elsewhere(weft_comm *world, weft_comm *other) {
    int value = 0;
    barrier(world);
    if (weft_rank(world) == 1)
        expect(weft_bcast(&value, 1, WEFT_INT, 0, other));
    barrier(world);
    barrier(world);
}

// Rank 0 receives what the last rank sends late; the rest are in a barrier.
void receive(weft_comm *world, weft_comm *) {
    double values[3] = {0};
    int last = weft_size(world) - 1;
    if (weft_rank(world) == 0)
        expect(weft_recv(values, 3, WEFT_DOUBLE, last, 7, world, WEFT_STATUS_IGNORE));
    if (weft_rank(world) == last) {
        wait_outside();
        expect(weft_send(values, 3, WEFT_DOUBLE, 0, 7, world));
    }
    barrier(world);
}

// The same by a request among others.
void wait_all(weft_comm *world, weft_comm *) {
    int in[3] = {0}, out = 0, last = weft_size(world) - 1, rank = weft_rank(world);
    std::vector<weft_request *> requests(3, WEFT_REQUEST_NULL);
    if (rank == 0) {
        expect(weft_irecv(&in[0], 1, WEFT_INT, 1, 1, world, &requests[0]));
        expect(weft_irecv(&in[1], 1, WEFT_INT, last, 2, world, &requests[2]));
        expect(weft_waitall(3, requests.data(), WEFT_STATUSES_IGNORE));
    }
    if (rank == 1)
        expect(weft_send(&out, 1, WEFT_INT, 0, 1, world));
    if (rank == last) {
        wait_outside();
        expect(weft_send(&out, 1, WEFT_INT, 0, 2, world));
    }
    barrier(world);
}

// All are busy until rank 0 finds the file; `least_s`: but at least for so long.
void work(weft_comm *world, double least_s) {
    auto begin = std::chrono::steady_clock::now();
    for (int over = 0; !over;) {
        if (weft_rank(world) == 0) {
            std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
            over = may_go_on() && passed.count() >= least_s;
        }
        expect(weft_bcast(&over, 1, WEFT_INT, 0, world));
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

// Of two persistent collectives even ranks have started the first, odd ones the second.
void persistent(weft_comm *world, weft_comm *) {
    weft_request *requests[2];
    double values[2] = {1, 2}, sums[2];
    for (int i : {0, 1})
        expect(weft_allreduce_init(&values[i], &sums[i], 1, WEFT_DOUBLE, WEFT_SUM, world, &requests[i]));
    int own = weft_rank(world) % 2, done = 0;
    expect(weft_start(&requests[own]));
    while (!may_go_on())
        test(&requests[own], &done);
    expect(weft_start(&requests[1 - own]));
    expect(weft_waitall(2, requests, WEFT_STATUSES_IGNORE));
    for (weft_request *&request : requests)
        expect(weft_request_free(&request));
}

// The last rank looks for a message that nobody sends, again and again; the others are in a barrier.
void probe(weft_comm *world, weft_comm *) {
    if (weft_rank(world) == weft_size(world) - 1)
        for (int found = 0; !may_go_on();) {
            expect(weft_iprobe(WEFT_ANY_SOURCE, 3, world, &found, WEFT_STATUS_IGNORE));
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    barrier(world);
}

// The others are through with what only the root still waits in, for the last rank.
void reduce(weft_comm *world, weft_comm *) {
    double value = 1, sum = 0;
    if (weft_rank(world) == weft_size(world) - 1)
        wait_outside();
    expect(weft_reduce(&value, &sum, 1, WEFT_DOUBLE, WEFT_SUM, 0, world));
    barrier(world);
}

// The last rank has begun what all wait for, and has its part still to do.
void start(weft_comm *world, weft_comm *) {
    weft_request *request = WEFT_REQUEST_NULL;
    std::vector<double> values(1 << 17, 1), sums(values.size());
    expect(weft_iallreduce(values.data(), sums.data(), values.size(), WEFT_DOUBLE, WEFT_SUM, world, &request));
    if (weft_rank(world) == weft_size(world) - 1)
        wait_outside();
    expect(weft_wait(&request, WEFT_STATUS_IGNORE));
}

// A persistent one that the last rank does not start a second time.
void restart(weft_comm *world, weft_comm *) {
    weft_request *request = WEFT_REQUEST_NULL;
    expect(weft_barrier_init(world, &request));
    for (int round = 0; round < 2; round++) {
        if (round && weft_rank(world) == weft_size(world) - 1)
            wait_outside();
        expect(weft_start(&request));
        expect(weft_wait(&request, WEFT_STATUS_IGNORE));
    }
    expect(weft_request_free(&request));
}

// Ranks of both processes in turn: the first process's second thread is rank 2, and late.
void mixed(weft_comm *world, weft_comm *) {
    weft_comm *turns = nullptr;
    int value = 0;
    expect(weft_comm_split(world, 0, weft_thread(world), &turns));
    if (weft_rank(turns) == 2)
        wait_outside();
    expect(weft_bcast(&value, 1, WEFT_INT, 2, turns));
    expect(weft_comm_free(&turns));
}

// Every two processes have a communicator, both of one number, and of each the second rank is late.
void groups(weft_comm *world, weft_comm *) {
    weft_comm *pair = nullptr;
    expect(weft_comm_split(world, weft_rank(world) / 2, 0, &pair));
    if (weft_rank(pair) == 1)
        wait_outside();
    barrier(pair);
    expect(weft_comm_free(&pair));
}

// The second process is through with the reduction, and gives its communicator back.
void give_back(weft_comm *world, weft_comm *) {
    weft_comm *comm = nullptr;
    double value = 1, sum = 0;
    expect(weft_comm_dup(world, &comm));
    if (weft_rank(comm) == 1)
        wait_outside();
    expect(weft_reduce(&value, &sum, 1, WEFT_DOUBLE, WEFT_SUM, 0, comm));
    expect(weft_comm_free(&comm));
}

// Each process has a communicator of its own, on which the thread with the process's number is alone in a barrier.
void within(weft_comm *world, weft_comm *) {
    weft_comm *own = nullptr;
    expect(weft_comm_split(world, weft_node(world), 0, &own));
    if (weft_rank(own) != weft_node(world))
        wait_outside();
    barrier(own);
    expect(weft_comm_free(&own));
}

void healthy(weft_comm *world, weft_comm *) {
    work(world, 0);
}

void busy(weft_comm *world, weft_comm *) {
    work(world, 5);
}

struct Mode {
    const char *name;
    void (*run)(weft_comm *world, weft_comm *other);
};
const Mode modes[] = {{"skip", skip},
                      {"stand_still", stand_still},
                      {"skip_nonblocking", skip_nonblocking},
                      {"skip_testing", skip_testing},
                      {"stop_testing", stop_testing},
                      {"elsewhere", elsewhere},
                      {"receive", receive},
                      {"wait_all", wait_all},
                      {"persistent", persistent},
                      {"within", within},
                      {"probe", probe},
                      {"reduce", reduce},
                      {"start", start},
                      {"restart", restart},
                      {"mixed", mixed},
                      {"groups", groups},
                      {"give_back", give_back},
                      {"healthy", healthy},
                      {"busy", busy}};

void on_teams(void (*run)(weft_comm *, weft_comm *)) {
    weft_team *first = nullptr, *second = nullptr;
    expect(weft_team_create(weft_process_comm(), 0, &first));
    expect(weft_team_create(weft_process_comm(), 0, &second));
    auto body = [&](int thread) {
        weft_comm *world = nullptr, *other = nullptr;
        expect(weft_team_enter(first, thread, &world));
        expect(weft_team_enter(second, thread, &other));
        run(world, other);
        expect(weft_team_leave(&other));
        expect(weft_team_leave(&world));
    };
    std::vector<std::thread> others;
    for (int thread = 1; thread < weft_team_threads(first); thread++)
        others.emplace_back(body, thread);
    body(0);
    for (std::thread &other : others)
        other.join();
    expect(weft_team_free(&second));
    expect(weft_team_free(&first));
}

// A team that not all enter: process 1 comes without its last thread.
void unentered() {
    weft_team *team = nullptr;
    expect(weft_team_create(weft_process_comm(), 2, &team));
    auto body = [&](int thread) {
        if (thread == 1 && weft_rank(weft_process_comm()) == 1)
            wait_outside();
        weft_comm *world = nullptr;
        expect(weft_team_enter(team, thread, &world));
        barrier(world);
        expect(weft_team_leave(&world));
    };
    std::thread other(body, 1);
    body(0);
    other.join();
    expect(weft_team_free(&team));
}

// Ranks are processes: the last one comes late to a broadcast, the others wait in a blocking and in a nonblocking one.
void processes() {
    weft_comm *comm = weft_process_comm();
    int value = 0;
    weft_request *request = WEFT_REQUEST_NULL;
    if (weft_rank(comm) == weft_size(comm) - 1)
        wait_outside();
    if (weft_rank(comm) == 0) {
        expect(weft_bcast(&value, 1, WEFT_INT, weft_size(comm) - 1, comm));
        return;
    }
    expect(weft_ibcast(&value, 1, WEFT_INT, weft_size(comm) - 1, comm, &request));
    expect(weft_wait(&request, WEFT_STATUS_IGNORE));
}

// Ranks are processes that test for what nobody sends.
void test_processes() {
    int value = 0, done = 0;
    weft_request *request = WEFT_REQUEST_NULL;
    expect(weft_irecv(&value, 1, WEFT_INT, 0, 1, weft_process_comm(), &request));
    while (!may_go_on())
        test(&request, &done);
    expect(weft_cancel(&request));
    expect(weft_wait(&request, WEFT_STATUS_IGNORE));
}

// One report, by process 0, with a line for every thread of every process.
bool is_whole(int processes, int threads) {
    std::string report = text_of(file);
    bool whole = report.find("roll-call of " + std::to_string(processes) + " processes:") != std::string::npos &&
                 report.find("roll-call") == report.rfind("roll-call");
    for (int rank = 0; rank < processes * threads; rank++)
        whole = whole && report.find("  rank " + std::to_string(rank) + " (process " + std::to_string(rank / threads) +
                                     ", thread " + std::to_string(rank % threads) + "): ") != std::string::npos;
    for (int process = 1; process < processes; process++)
        whole = whole && text_of(file.substr(0, file.size() - 1) + std::to_string(process)).empty();
    if (!whole)
        fprintf(stderr, "rollcall_job: the report is not that of the whole job:\n%s", report.c_str());
    return whole;
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    mode = argv[1];
    file = argv[2];
    printf("up %ld\n", long(getpid()));
    fflush(stdout);
    const char *rank = getenv("PMIX_RANK");
    if (mode == "before_init" || (mode == "late_init" && rank && rank == std::string("1")))
        wait_outside();
    options.bootstrap = directory.get();
    std::string report = file;
    if (options.bootstrap) {
        report = std::string(getenv("TESTS_DIRECTORY")) + "/" + file;
        file = report + ".0";
        options.hang_timeout = 1;
        options.hang_report = report.c_str();
    }
    expect(weft_init(&options));
    int size = weft_size(weft_process_comm());
    if (mode == "unentered")
        unentered();
    if (mode == "processes")
        processes();
    if (mode == "test_processes")
        test_processes();
    if (mode == "restart_processes")
        restart(weft_process_comm(), nullptr);
    for (const Mode &one : modes)
        if (mode == one.name)
            on_teams(one.run);
    if (mode == "healthy") {
        printf("worked\n");
        fflush(stdout);
    }
    expect(weft_finalize());
    return options.bootstrap && !is_whole(size, atoi(getenv("WEFT_THREADS"))) ? 1 : 0;
}
