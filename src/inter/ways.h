// SPDX-License-Identifier: BSD-3-Clause
/**
 * Ways: which of the two a pull takes (pull.h), learned from those before it.
 *
 * Parts are copied twice, by two cores at once, and are quicker where these share a cache; reads are copied once, by one core, and are
 * quicker where they do not, or where both processes receive. What is so depends on the machine and on where it has put the
 * processes, and may change: so the way that was slower has its turn now and then.
 */
#ifndef INTER_WAYS_H
#define INTER_WAYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum inter_way { INTER_BY_PARTS, INTER_BY_READS, INTER_WAYS };

/** Of pulls that are alike. All zeros: nothing is known. */
typedef struct inter_ways {
    uint64_t cost[INTER_WAYS]; /* nanoseconds a MiB, smoothed */
    unsigned turn;
} inter_ways;

#define INTER_WAYS_FIRST 8  /* so many turns go to both alike */
#define INTER_WAYS_EVERY 32 /* and later one in so many to the slower */

static inline enum inter_way inter_ways_choose(inter_ways *ways) {
    unsigned turn = ways->turn++;
    bool reads = ways->cost[INTER_BY_READS] < ways->cost[INTER_BY_PARTS];
    if (turn < INTER_WAYS_FIRST)
        reads = turn % 2;
    else if (turn % INTER_WAYS_EVERY == 0)
        reads = !reads;
    return reads ? INTER_BY_READS : INTER_BY_PARTS;
}

/** A pull of so many bytes took so long. One that took very long, since somebody had no core, counts for no more than thrice the others. */
static inline void inter_ways_learn(inter_ways *ways, enum inter_way by, uint64_t ns, size_t bytes) {
    uint64_t *known = &ways->cost[by], cost = (uint64_t)((double)ns * (1 << 20) / (double)bytes) + 1;
    if (!*known)
        *known = cost;
    else
        *known += ((int64_t)(cost < 3 * *known ? cost : 3 * *known) - (int64_t)*known) / 4;
}

#endif
