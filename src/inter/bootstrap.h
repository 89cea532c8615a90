// SPDX-License-Identifier: BSD-3-Clause
/**
 * Bootstrap: how the processes of a job find each other before there is a transport.
 *
 * Three implementations: pmix (a launcher), callback (the program's own allgather), single (no launcher).
 * All calls come from one thread at a time.
 */
#ifndef INTER_BOOTSTRAP_H
#define INTER_BOOTSTRAP_H

#include <core/config.h>
#include <stdbool.h>
#include <stddef.h>
#include <weft/init.h>

typedef struct inter_bootstrap inter_bootstrap;

struct inter_bootstrap {
    const char *name; /* "pmix", "callback", "single" */
    int rank, size;   /* this process, how many */

    /*
     * Errors of all that return one: WEFT_ERR_BOOTSTRAP, WEFT_ERR_NOMEM, WEFT_ERR_RANK (lookup: no such peer), and, under PMIx,
     * WEFT_ERR_PROC_FAILED (a process has ended meanwhile); with a sentence.
     */

    /** Makes this process's address (`bytes` bytes, at least 1) known. Collective (it may exchange); once. */
    int (*publish)(inter_bootstrap *self, const void *address, size_t bytes);
    /** Looks up a peer's address; *address belongs to the bootstrap until close. May wait for the peer to publish. */
    int (*lookup)(inter_bootstrap *self, int peer, const void **address, size_t *bytes);
    /** A number that is equal for processes of the same host, 0 … size-1; valid after publish. */
    int (*host)(inter_bootstrap *self, int peer);
    /** Returns when every process has called it. Collective. */
    int (*fence)(inter_bootstrap *self);
    /** Frees everything, self included. Not collective by itself: fence first. */
    void (*close)(inter_bootstrap *self);
};

/**
 * Each sets *bootstrap on success. Otherwise WEFT_ERR_BOOTSTRAP, WEFT_ERR_NOMEM, or WEFT_ERR_ARG for what the user passed, with
 * a sentence, and nothing is left behind.
 */
int inter_bootstrap_pmix(inter_bootstrap **bootstrap);
int inter_bootstrap_callback(const weft_bootstrap *user, inter_bootstrap **bootstrap);
int inter_bootstrap_single(inter_bootstrap **bootstrap);

/**
 * Is there a PMIx launcher around this process? (Its variables are set.) With stale variables of a launcher that is
 * gone the answer is true and inter_bootstrap_pmix() fails, so that a job never falls apart into single processes
 * silently.
 */
bool inter_bootstrap_pmix_present(void);

/**
 * Chooses among them: `user` (unless NULL) wins, then WEFT_BOOTSTRAP, then PMIx where it is present, then single.
 * WEFT_ERR_BOOTSTRAP, with a sentence that says how to launch, when another launcher has started several processes and there
 * is no PMIx.
 */
int inter_bootstrap_open(const core_config *config, const weft_bootstrap *user, inter_bootstrap **bootstrap);

#endif
