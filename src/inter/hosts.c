// SPDX-License-Identifier: BSD-3-Clause
#include <inter/hosts.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *left, const void *right) {
    const inter_place *a = left, *b = right;
    int order = strcmp(a->host, b->host);
    return order ? order : a->rank - b->rank;
}

/* Sorting brings each host's lowest rank to its front. */
void inter_hosts_group(inter_place *places, int size, int *hosts) {
    qsort(places, (size_t)size, sizeof(*places), compare);
    for (int i = 0, first = 0; i < size; i++) {
        if (i == 0 || strcmp(places[i].host, places[i - 1].host) != 0)
            first = places[i].rank;
        hosts[places[i].rank] = first;
    }
}
