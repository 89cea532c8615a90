// SPDX-License-Identifier: BSD-3-Clause
/**
 * Work while a sum is under way: Jacobi's iteration on a ring of numbers, whose error is summed over all processes one
 * iteration late. The persistent request is prepared once; starting it again takes no memory.
 *
 *     weftrun -n 4 -t 1 ./overlap
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <weft/weft.h>

enum { CELLS = 4096, ITERATIONS = 200, PIECES = 8 };

static void check(int code) {
    if (code == WEFT_SUCCESS)
        return;
    fprintf(stderr, "%s\n", weft_last_error());
    exit(EXIT_FAILURE);
}

/* Relaxes one piece of the cells; returns the sum of the squared changes. */
static double relax(const double *from, double *to, int piece) {
    double change = 0;
    for (int i = piece * CELLS / PIECES; i < (piece + 1) * CELLS / PIECES; i++) {
        to[i] = (from[(i + CELLS - 1) % CELLS] + from[i] + from[(i + 1) % CELLS]) / 3;
        change += (to[i] - from[i]) * (to[i] - from[i]);
    }
    return change;
}

int main(void) {
    static double cells[2][CELLS];
    double mine = 0, all = 0;
    check(weft_init(NULL));
    weft_comm *processes = weft_process_comm();
    for (int i = 0; i < CELLS; i++)
        cells[0][i] = sin(i * 0.01 * (weft_rank(processes) + 1));

    weft_request *sum;
    check(weft_allreduce_init(&mine, &all, 1, WEFT_DOUBLE, WEFT_SUM, processes, &sum));
    for (int iteration = 0; iteration < ITERATIONS; iteration++) {
        double change = 0;
        for (int piece = 0; piece < PIECES; piece++) {
            int done;
            change += relax(cells[iteration % 2], cells[(iteration + 1) % 2], piece);
            check(weft_test(&sum, &done, WEFT_STATUS_IGNORE)); /* lets the sum of the last iteration go on */
        }
        check(weft_wait(&sum, WEFT_STATUS_IGNORE));
        if (iteration % 50 == 1 && weft_rank(processes) == 0)
            printf("iteration %3d: change %g\n", iteration - 1, sqrt(all));
        mine = change;
        check(weft_start(&sum));
    }
    check(weft_wait(&sum, WEFT_STATUS_IGNORE));
    if (weft_rank(processes) == 0)
        printf("iteration %3d: change %g\n", ITERATIONS - 1, sqrt(all));
    check(weft_request_free(&sum));
    check(weft_finalize());
    return 0;
}
