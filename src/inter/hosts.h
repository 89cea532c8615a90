// SPDX-License-Identifier: BSD-3-Clause
/**
 * Which processes share a host, from what each is said to run on.
 */
#ifndef INTER_HOSTS_H
#define INTER_HOSTS_H

typedef struct inter_place {
    char *host; /* the same text for all processes of a host; the caller's */
    int rank;
} inter_place;

/** Writes to hosts[rank] the lowest rank of the same host, for the `size` places, of the ranks 0 … size-1, which it sorts. */
void inter_hosts_group(inter_place *places, int size, int *hosts);

#endif
