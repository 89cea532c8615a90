// SPDX-License-Identifier: BSD-3-Clause
/**
 * Ways: which of them a pull takes (pull.h), learned from those before it.
 *
 * Parts are copied twice, by two cores at once, and are quicker where these share a cache; reads are copied once, by one core, and are
 * quicker where they do not and both processes receive. By halves the receiver reads while the sender packs parts, which is quickest
 * where the sender of cores far apart has nothing else to do. What is so depends on the machine and on where it has put the
 * processes, and may change: so the ways that were slower have their turns now and then.
 */
#ifndef INTER_WAYS_H
#define INTER_WAYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum inter_way { INTER_BY_PARTS, INTER_BY_READS, INTER_BY_HALVES, INTER_WAYS };

/** Of pulls that are alike. All zeros: nothing is known. */
typedef struct inter_ways {
    uint64_t cost[INTER_WAYS]; /* nanoseconds a MiB, smoothed */
    unsigned turn;
} inter_ways;

#define INTER_WAYS_FIRST 12 /* so many turns go to all alike */
#define INTER_WAYS_EVERY 32 /* and later one in so many to a slower one */

static inline enum inter_way inter_ways_choose(inter_ways *ways) {
    unsigned turn = ways->turn++, best = INTER_BY_PARTS;
    if (turn < INTER_WAYS_FIRST)
        return (enum inter_way)(turn % INTER_WAYS);
    for (unsigned way = best + 1; way < INTER_WAYS; way++)
        if (ways->cost[way] < ways->cost[best])
            best = way;
    if (turn % INTER_WAYS_EVERY == 0)
        best = (best + 1 + turn / INTER_WAYS_EVERY % (INTER_WAYS - 1)) % INTER_WAYS;
    return (enum inter_way)best;
}

/**
 * A pull of so many bytes took so long. What else the machine does makes it longer, never shorter: a shorter time is believed at once,
 * and one that is very long, since somebody had no core, counts for no more than thrice the others.
 */
static inline void inter_ways_learn(inter_ways *ways, enum inter_way by, uint64_t ns, size_t bytes) {
    uint64_t *known = &ways->cost[by], cost = (uint64_t)((double)ns * (1 << 20) / (double)bytes) + 1;
    if (!*known || cost < *known)
        *known = cost;
    else
        *known += ((cost < 3 * *known ? cost : 3 * *known) - *known) / 4;
}

/**
 * The pace of copies into a neighbour's ring, some of which are timed. Where the two cores are far apart each line has to come from the
 * receiver's cache first, and go there again: three to four times as long as where they share one, and then what can be pulled is better
 * copied once. That may change, so now and then one is copied twice all the same.
 */
typedef struct inter_pace {
    unsigned turn, slow; /* timed ones that were slow, since the last that was not */
} inter_pace;

#define INTER_PACE_TIMED 8   /* one in so many is timed … */
#define INTER_PACE_TRIED 32  /* … where cores are far, of those in so many that are copied twice */
#define INTER_PACE_FAR   180 /* nanoseconds a KiB */
#define INTER_PACE_SURE  2   /* so many slow ones are not by chance */

static inline bool inter_pace_is_far(const inter_pace *pace) {
    return pace->slow >= INTER_PACE_SURE;
}

/** Is the next one to be pulled? */
static inline bool inter_pace_pulls(inter_pace *pace) {
    return inter_pace_is_far(pace) && ++pace->turn % INTER_PACE_TRIED;
}

static inline bool inter_pace_is_timed(inter_pace *pace) {
    return inter_pace_is_far(pace) || ++pace->turn % INTER_PACE_TIMED == 0;
}

/** A copy of so many bytes took so long. What else the machine does makes it longer, never shorter. */
static inline void inter_pace_learn(inter_pace *pace, uint64_t ns, size_t bytes) {
    if (ns * 1024 < INTER_PACE_FAR * (uint64_t)bytes)
        pace->slow = 0;
    else if (!inter_pace_is_far(pace))
        pace->slow++;
}

#endif
