// SPDX-License-Identifier: BSD-3-Clause
/**
 * A queue of work: rank 0 hands out tasks to whichever rank asks next, be it a thread beside it or in another process. Tasks
 * differ in length; those who finish first get more. Counts the primes below 200,000.
 *
 *     weftrun -n 2 -t 2 ./workers
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <weft/weft.h>

enum { TASKS = 200, NUMBERS = 1000, PRIMES = 17984, RESULT = 1, TASK = 2, STOP = 3 };

static void check(int code) {
    if (code == WEFT_SUCCESS)
        return;
    fprintf(stderr, "workers: %s\n", weft_last_error());
    _Exit(EXIT_FAILURE);
}

static int count_primes(int task) {
    int primes = 0;
    for (int n = task * NUMBERS; n < (task + 1) * NUMBERS; n++) {
        int divisor = 2;
        while (divisor * divisor <= n && n % divisor != 0)
            divisor++;
        primes += n >= 2 && divisor * divisor > n;
    }
    return primes;
}

/* Answers every result with a task, or with STOP when there is none. Returns the sum of the results. */
static int hand_out(weft_comm *world) {
    int next = 0, sum = 0, working = weft_size(world) - 1;
    for (; working == 0 && next < TASKS; next++) /* nobody else is there */
        sum += count_primes(next);
    while (working > 0) {
        int result;
        weft_status status;
        check(weft_recv(&result, 1, WEFT_INT, WEFT_ANY_SOURCE, RESULT, world, &status));
        sum += result;
        if (next < TASKS) {
            check(weft_send(&next, 1, WEFT_INT, status.source, TASK, world));
            next++;
        } else {
            check(weft_send(NULL, 0, WEFT_INT, status.source, STOP, world));
            working--;
        }
    }
    return sum;
}

/* A result asks for the next task; the first one is empty. Returns how many tasks there were. */
static int work(weft_comm *world) {
    int task, result = 0;
    for (int tasks = 0;; tasks++) {
        weft_status status;
        check(weft_send(&result, 1, WEFT_INT, 0, RESULT, world));
        check(weft_recv(&task, 1, WEFT_INT, 0, WEFT_ANY_TAG, world, &status));
        if (status.tag == STOP)
            return tasks;
        result = count_primes(task);
    }
}

int main(void) {
    const int threads = omp_get_max_threads();
    weft_team *team;
    int wrong = 0;
    omp_set_dynamic(0);
    check(weft_init(NULL));
    check(weft_team_create(weft_process_comm(), threads, &team));
#pragma omp parallel num_threads(threads) reduction(+ : wrong)
    {
        if (omp_get_num_threads() != threads) {
            fprintf(stderr, "workers: OpenMP gave %d threads, not %d\n", omp_get_num_threads(), threads);
            _Exit(EXIT_FAILURE);
        }
        weft_comm *world;
        check(weft_team_enter(team, omp_get_thread_num(), &world));
        const int rank = weft_rank(world);
        if (rank == 0) {
            int primes = hand_out(world);
            printf("%d primes below %d\n", primes, TASKS * NUMBERS);
            wrong += primes != PRIMES;
        } else {
            int tasks = work(world);
            printf("rank %d did %d of %d tasks\n", rank, tasks, TASKS);
        }
        check(weft_barrier(world)); /* under FUNNELED thread 0 moves the others' messages: it leaves last */
        check(weft_team_leave(&world));
    }
    check(weft_team_free(&team));
    check(weft_finalize());
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
