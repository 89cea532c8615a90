// SPDX-License-Identifier: BSD-3-Clause
/**
 * The parts of the PMIx bootstrap: reaching the launcher, asking it, and who shares a host.
 */
#ifndef INTER_PMIX_CLIENT_H
#define INTER_PMIX_CLIENT_H

#include <pmix.h>
#include <stdbool.h>
#include <stdint.h>

/**
 * Connects to the launcher's server, or takes up the connection of the last time. WEFT_ERR_BOOTSTRAP when there is no server that
 * answers in time. Each success is paired with inter_pmix_release().
 *
 * The connection stays until the process exits. A job in which one process has disconnected and another has not connected
 * again yet cannot be told by libpmix from one that loses a process, so fences of a second start would fail.
 */
int inter_pmix_connect(pmix_proc_t *self);

/**
 * Nobody uses the connection for now. A process that exits in this state says goodbye to the launcher; one that exits while
 * the connection is in use does not, and the launcher takes it for a failure.
 */
void inter_pmix_release(void);

/**
 * A number about `rank` (PMIX_RANK_WILDCARD: about the job) that the launcher gave at the start. False: it did not.
 */
bool inter_pmix_number(const pmix_proc_t *self, pmix_rank_t rank, const char *key, uint32_t *number);

/** The same for a text, or a number as text; freed by the caller. NULL: the launcher did not give it. */
char *inter_pmix_text(const pmix_proc_t *self, pmix_rank_t rank, const char *key);

/** Sets hosts[rank] for `size` ranks to the lowest rank on the same host. WEFT_ERR_BOOTSTRAP, WEFT_ERR_NOMEM. */
int inter_pmix_hosts(const pmix_proc_t *self, int size, int *hosts);

#endif
