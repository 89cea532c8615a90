// SPDX-License-Identifier: BSD-3-Clause
/**
 * The two verifications of IS: the published ranks of five keys after each iteration, and the whole order at the end.
 */
#ifndef IS_VERIFY_H
#define IS_VERIFY_H

#include "ranking.h"

#include <stdbool.h>

/**
 * How many of the probes whose value this rank has were given the published rank. Local; says on stderr which were not.
 * Over all ranks the right answers add up to IS_PROBES.
 */
int is_verify_probes(const struct is_ranking *r, int iteration);

/**
 * Orders the keys by their ranks and sets *sorted to whether the outcome is sorted, within each rank and from rank to
 * rank, and holds the same keys as the sequence. Uses up r->ranks. Collective; the same answer on every rank; weft's
 * errors.
 */
int is_verify_order(struct is_ranking *r, bool *sorted);

#endif
