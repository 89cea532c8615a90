// SPDX-License-Identifier: BSD-3-Clause
/**
 * Who am I: every thread of every process says its rank, node and thread. The lines come in rank order, because rank 0
 * gathers and prints them.
 *
 *     weftrun -n 2 -t 3 ./hello
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <weft/weft.h>

#define LINE_BYTES 80

static void check(int code) {
    if (code != WEFT_SUCCESS) {
        fprintf(stderr, "hello: %s; %s\n", weft_strerror(code), weft_last_error());
        _Exit(EXIT_FAILURE);
    }
}

/** Prints everybody's line and returns how many are not where their rank says. */
static int print_lines(const char *lines, int size) {
    int wrong = 0;
    for (int rank = 0; rank < size; rank++) {
        const char *line = &lines[(size_t)rank * LINE_BYTES];
        int said;
        wrong += sscanf(line, "rank %d", &said) != 1 || said != rank;
        puts(line);
    }
    return wrong;
}

int main(void) {
    const int threads = omp_get_max_threads();
    weft_team *team;
    int wrong = 0;
    omp_set_dynamic(0);
    check(weft_init(NULL));
    check(weft_team_create(weft_process_comm(), threads, &team));
#pragma omp parallel num_threads(threads)
    {
        if (omp_get_num_threads() != threads) {
            fprintf(stderr, "hello: OpenMP gave %d threads, not %d\n", omp_get_num_threads(), threads);
            _Exit(EXIT_FAILURE);
        }
        weft_comm *world;
        check(weft_team_enter(team, omp_get_thread_num(), &world));
        const int rank = weft_rank(world), size = weft_size(world), node = weft_node(world);

        char mine[LINE_BYTES] = "";
        snprintf(mine, sizeof mine, "rank %d of %d: thread %d of %d in node %d of %d (process %ld)", rank, size,
                 weft_thread(world), weft_node_threads(world, node), node, weft_nodes(world), (long)getpid());
        char *lines = rank == 0 ? malloc((size_t)size * LINE_BYTES) : NULL;
        if (rank == 0 && !lines)
            _Exit(EXIT_FAILURE);
        check(weft_gather(mine, LINE_BYTES, WEFT_CHAR, lines, LINE_BYTES, WEFT_CHAR, 0, world));
        if (rank == 0)
            wrong = print_lines(lines, size);
        free(lines);
        check(weft_team_leave(&world));
    }
    check(weft_team_free(&team));
    check(weft_finalize());
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
