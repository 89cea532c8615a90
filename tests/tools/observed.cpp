// SPDX-License-Identifier: BSD-3-Clause
// A job whose operations are known: on a team of WEFT_THREADS threads a process, ten allreduces of 8 words, and a message of 100
// bytes from each rank to the next. With "die" process 1 ends before weft_finalize, with "forget" all do, well; with "leave" no process
// runs its exit handlers; with "again" all of it is done twice; with "gather" there is one gatherv of long blocks beside.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>
#include <weft/weft.h>

static void must(int code) {
    if (code == WEFT_SUCCESS)
        return;
    fprintf(stderr, "%s\n", weft_last_error());
    _exit(9);
}

static void gather(weft_comm *comm) {
    const size_t bytes = 65536, size = (size_t)weft_size(comm);
    std::vector<size_t> counts(size, bytes);
    std::vector<ptrdiff_t> starts;
    for (size_t i = 0; i < size; i++)
        starts.push_back((ptrdiff_t)(i * bytes));
    std::vector<char> sent(bytes), received(size * bytes);
    must(
        weft_gatherv(sent.data(), bytes, WEFT_BYTE, received.data(), counts.data(), starts.data(), WEFT_BYTE, 0, comm));
}

static void work(weft_team *team, int thread, bool gathers) {
    weft_comm *comm;
    double in[8] = {}, out[8];
    char sent[100] = {}, received[100];
    must(weft_team_enter(team, thread, &comm));
    int rank = weft_rank(comm), size = weft_size(comm);
    for (int i = 0; i < 10; i++)
        must(weft_allreduce(in, out, 8, WEFT_DOUBLE, WEFT_SUM, comm));
    must(weft_sendrecv(sent, 100, WEFT_BYTE, (rank + 1) % size, 0, received, 100, WEFT_BYTE, (rank + size - 1) % size,
                       0, comm, WEFT_STATUS_IGNORE));
    if (gathers)
        gather(comm);
    must(weft_team_leave(&comm));
}

static void session(const std::string &mode) {
    weft_team *team;
    must(weft_init(nullptr));
    const bool dies = mode == "die" && weft_rank(weft_process_comm()) == 1, gathers = mode == "gather";
    must(weft_team_create(weft_process_comm(), 0, &team));
    std::vector<std::thread> others;
    for (int thread = 1; thread < weft_team_threads(team); thread++)
        others.emplace_back([=] { work(team, thread, gathers); });
    work(team, 0, gathers);
    for (std::thread &other : others)
        other.join();
    must(weft_team_free(&team));
    if (dies)
        _exit(3);
    if (mode == "forget")
        exit(0); // NOLINT(concurrency-mt-unsafe): the other threads have ended
    must(weft_finalize());
}

int main(int argc, char **argv) {
    const std::string mode = argc > 1 ? argv[1] : "";
    session(mode);
    if (mode == "again")
        session(mode);
    puts("done");
    fflush(stdout);
    if (mode == "leave")
        _exit(0);
}
