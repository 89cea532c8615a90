// SPDX-License-Identifier: BSD-3-Clause
/**
 * Halo exchange from an OpenMP region: Jacobi's iteration on a 2-D grid, of which every thread of every process has a block
 * with a frame for its neighbours' cells. Columns travel as a vector type; at the grid's edge the neighbour is WEFT_PROC_NULL.
 *     weftrun -n 2 -t 3 ./halo
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <weft/weft.h>

enum { EDGE = 32, WIDTH = EDGE + 2, ITERATIONS = 200 };
#define AT(row, column) ((row)*WIDTH + (column))

static void check(int code) {
    if (code == WEFT_SUCCESS)
        return;
    fprintf(stderr, "halo: %s\n", weft_last_error());
    _Exit(EXIT_FAILURE);
}

/* A grid of rows x columns cells and a frame, which begins at (row, column) of the whole: cold, but for two of its edges. */
static void fill(double *grid, int rows, int columns, int row, int column) {
    for (int i = 0; i < (rows + 2) * (columns + 2); i++)
        grid[i] = row + i / (columns + 2) == 0 ? 1 : column + i % (columns + 2) == 0 ? 0.5 : 0;
}

static void relax(const double *from, double *to, int rows, int columns) {
    const int width = columns + 2;
    for (int r = 1; r <= rows; r++)
        for (int i = r * width + 1; i <= r * width + columns; i++)
            to[i] = (from[i - width] + from[i + width] + from[i - 1] + from[i + 1]) / 4;
}

/* The outermost cells go to the neighbours, theirs into the frame: up, down, left, right, which are the messages' tags. */
static void exchange(double *grid, const int neighbours[4], const weft_datatype *column, weft_comm *world) {
    static const int from[4] = {AT(1, 1), AT(EDGE, 1), AT(1, 1), AT(1, EDGE)};
    static const int into[4] = {AT(0, 1), AT(EDGE + 1, 1), AT(1, 0), AT(1, EDGE + 1)};
    weft_request *requests[8];
    for (int side = 0; side < 4; side++) {
        const size_t count = side < 2 ? EDGE : 1;
        const weft_datatype *type = side < 2 ? WEFT_DOUBLE : column;
        check(weft_irecv(grid + into[side], count, type, neighbours[side], side ^ 1, world, &requests[side]));
        check(weft_isend(grid + from[side], count, type, neighbours[side], side, world, &requests[4 + side]));
    }
    check(weft_waitall(8, requests, WEFT_STATUSES_IGNORE));
}

/* The iteration on this rank's block of rows x columns blocks; returns how many cells differ from the whole, done serially. */
static int iterate(int rows, int columns, const weft_datatype *type, const double *serial, weft_comm *world) {
    const int rank = weft_rank(world), row = rank / columns, column = rank % columns, none = WEFT_PROC_NULL;
    const int neighbours[4] = {row > 0 ? rank - columns : none, row < rows - 1 ? rank + columns : none,
                               column > 0 ? rank - 1 : none, column < columns - 1 ? rank + 1 : none};
    double grids[2][WIDTH * WIDTH];
    int wrong = 0;
    for (int i = 0; i < 2; i++)
        fill(grids[i], EDGE, EDGE, row * EDGE, column * EDGE);
    for (int i = 0; i < ITERATIONS; i++) {
        exchange(grids[i % 2], neighbours, type, world);
        relax(grids[i % 2], grids[(i + 1) % 2], EDGE, EDGE);
    }
    for (int r = row * EDGE, i = 1; i <= EDGE; i++)
        for (int c = column * EDGE, k = 1; k <= EDGE; k++)
            wrong += grids[ITERATIONS % 2][AT(i, k)] != serial[(r + i) * (columns * EDGE + 2) + c + k];
    return wrong;
}

int main(void) {
    const int threads = omp_get_max_threads();
    int size, rows = 1, wrong = 0;
    omp_set_dynamic(0);
    check(weft_init(NULL));
    check(weft_allreduce(&threads, &size, 1, WEFT_INT, WEFT_SUM, weft_process_comm())); /* processes may differ */
    for (int i = 1; i * i <= size; i++)
        rows = size % i == 0 ? i : rows;
    const int columns = size / rows;
    const size_t cells = (size_t)(rows * EDGE + 2) * (size_t)(columns * EDGE + 2);
    double *serial = malloc(2 * cells * sizeof *serial);
    if (!serial)
        _Exit(EXIT_FAILURE);
    for (size_t i = 0; i < 2; i++)
        fill(serial + i * cells, rows * EDGE, columns * EDGE, 0, 0);
    for (size_t i = 0; i < ITERATIONS; i++)
        relax(serial + i % 2 * cells, serial + (i + 1) % 2 * cells, rows * EDGE, columns * EDGE);
    weft_datatype *column;
    weft_team *team;
    check(weft_type_vector(EDGE, 1, WIDTH, WEFT_DOUBLE, &column));
    check(weft_type_commit(&column));
    check(weft_team_create(weft_process_comm(), threads, &team));
#pragma omp parallel num_threads(threads) reduction(+ : wrong)
    {
        if (omp_get_num_threads() != threads) {
            fprintf(stderr, "halo: OpenMP gave %d threads, not %d\n", omp_get_num_threads(), threads);
            _Exit(EXIT_FAILURE);
        }
        weft_comm *world;
        check(weft_team_enter(team, omp_get_thread_num(), &world));
        wrong += iterate(rows, columns, column, serial + ITERATIONS % 2 * cells, world);
        check(weft_barrier(world)); /* under FUNNELED thread 0 moves the others' messages: it leaves last */
        check(weft_team_leave(&world));
    }
    check(weft_team_free(&team));
    check(weft_type_free(&column));
    printf("%d x %d blocks of %d x %d cells: %d cells differ from the serial run\n", rows, columns, EDGE, EDGE, wrong);
    free(serial);
    check(weft_finalize());
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
