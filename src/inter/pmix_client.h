// SPDX-License-Identifier: BSD-3-Clause
/**
 * The parts of the PMIx bootstrap: reaching the launcher, asking it, and who shares a host.
 */
#ifndef INTER_PMIX_CLIENT_H
#define INTER_PMIX_CLIENT_H

#include <pmix.h>
#include <stdbool.h>
#include <stdint.h>

/** Connects to the launcher's server; PMIx_Finalize() ends that. WEFT_ERR_BOOTSTRAP when there is none that answers in time. */
int inter_pmix_connect(pmix_proc_t *self);

/**
 * A number about `rank` (PMIX_RANK_WILDCARD: about the job) that the launcher gave at the start. False: it did not.
 */
bool inter_pmix_number(const pmix_proc_t *self, pmix_rank_t rank, const char *key, uint32_t *number);

/** The same for a text, or a number as text; freed by the caller. NULL: the launcher did not give it. */
char *inter_pmix_text(const pmix_proc_t *self, pmix_rank_t rank, const char *key);

/** Sets hosts[rank] for `size` ranks to the lowest rank on the same host. WEFT_ERR_BOOTSTRAP, WEFT_ERR_NOMEM. */
int inter_pmix_hosts(const pmix_proc_t *self, int size, int *hosts);

#endif
