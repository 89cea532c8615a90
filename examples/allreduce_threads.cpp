// SPDX-License-Identifier: BSD-3-Clause
/**
 * The same with std::thread: weft does not care where its threads come from. At the default level (SERIALIZED) the
 * thread that called weft_init need not be in the team.
 *
 *     weftrun -n 2 -t 2 ./allreduce_threads
 */
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>
#include <weft/weft.h>

/** A collective that failed on one thread cannot be awaited by the others: the process ends. */
static void check(int code) {
    if (code != WEFT_SUCCESS) {
        std::fprintf(stderr, "allreduce_threads: %s; %s\n", weft_strerror(code), weft_last_error());
        std::_Exit(EXIT_FAILURE);
    }
}

/** One thread's life in the team; `right` is set to whether its sum was the expected one. */
static void work(weft_team *team, int thread, char &right) {
    weft_comm *world;
    check(weft_team_enter(team, thread, &world));
    const int rank = weft_rank(world), size = weft_size(world);

    const double mine = rank;
    double sum;
    check(weft_allreduce(&mine, &sum, 1, WEFT_DOUBLE, WEFT_SUM, world));

    right = sum == 0.5 * size * (size - 1);
    if (rank == 0)
        std::printf("the ranks 0 to %d add up to %.0f\n", size - 1, sum);
    check(weft_team_leave(&world));
}

int main() {
    weft_team *team;
    check(weft_init(nullptr));
    check(weft_team_create(weft_process_comm(), 0, &team)); // 0: as many as weftrun -t says, else one a core

    const int count = weft_team_threads(team);
    std::vector<char> right(static_cast<std::size_t>(count));
    std::vector<std::thread> threads;
    for (int t = 0; t < count; t++)
        threads.emplace_back(work, team, t, std::ref(right[static_cast<std::size_t>(t)]));
    for (std::thread &thread : threads)
        thread.join();

    check(weft_team_free(&team));
    check(weft_finalize());
    for (char r : right)
        if (!r)
            return EXIT_FAILURE;
    return EXIT_SUCCESS;
}
