// SPDX-License-Identifier: BSD-3-Clause
/**
 * What the PMIx launcher told about the job: numbers, texts, and which ranks share a host.
 *
 * The launcher's word counts, not gethostname(): a host that stands for several nodes has one name but several in the job.
 */
#include <core/error.h>
#include <inter/hosts.h>
#include <inter/pmix_client.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool get(const pmix_proc_t *self, pmix_rank_t rank, const char *key, pmix_value_t **value) {
    pmix_proc_t proc;
    PMIX_LOAD_PROCID(&proc, self->nspace, rank);
    return PMIx_Get(&proc, key, NULL, 0, value) == PMIX_SUCCESS && *value;
}

bool inter_pmix_number(const pmix_proc_t *self, pmix_rank_t rank, const char *key, uint32_t *number) {
    pmix_value_t *value = NULL;
    if (!get(self, rank, key, &value))
        return false;
    bool good = value->type == PMIX_UINT32;
    if (good)
        *number = value->data.uint32;
    PMIX_VALUE_RELEASE(value);
    return good;
}

char *inter_pmix_text(const pmix_proc_t *self, pmix_rank_t rank, const char *key) {
    pmix_value_t *value = NULL;
    if (!get(self, rank, key, &value))
        return NULL;
    char *text = NULL;
    if (value->type == PMIX_STRING && value->data.string)
        text = strdup(value->data.string);
    else if (value->type == PMIX_UINT32 && asprintf(&text, "%u", value->data.uint32) < 0)
        text = NULL;
    PMIX_VALUE_RELEASE(value);
    return text;
}

/* By what `key` says of each rank. */
static bool find_by_key(const pmix_proc_t *self, int size, const char *key, int *hosts) {
    inter_place *places = calloc((size_t)size, sizeof(*places));
    int known = 0;
    while (places && known < size && (places[known].host = inter_pmix_text(self, (pmix_rank_t)known, key))) {
        places[known].rank = known;
        known++;
    }
    if (known == size)
        inter_hosts_group(places, size, hosts);
    for (int i = 0; i < known; i++)
        free(places[i].host);
    free(places);
    return known == size;
}

/* From the list of the ranks of this host, which may be unsorted; every other rank counts as a host by itself. */
static bool find_by_peers(const pmix_proc_t *self, int size, int *hosts) {
    char *list = inter_pmix_text(self, PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS), *rest = NULL;
    int lowest = (int)self->rank;
    if (!list)
        return false;
    for (int rank = 0; rank < size; rank++)
        hosts[rank] = rank;
    hosts[self->rank] = -1;
    for (char *word = strtok_r(list, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        int rank = atoi(word);
        if (rank >= 0 && rank < size) {
            hosts[rank] = -1; /* here */
            lowest = rank < lowest ? rank : lowest;
        }
    }
    for (int rank = 0; rank < size; rank++)
        if (hosts[rank] < 0)
            hosts[rank] = lowest;
    free(list);
    return true;
}

int inter_pmix_hosts(const pmix_proc_t *self, int size, int *hosts) {
    /* All on one host is the usual case on one machine, and one question instead of one a rank. */
    uint32_t local = 0;
    if (inter_pmix_number(self, PMIX_RANK_WILDCARD, PMIX_LOCAL_SIZE, &local) && local == (uint32_t)size) {
        memset(hosts, 0, (size_t)size * sizeof(*hosts));
        return WEFT_SUCCESS;
    }
    /* Open MPI 4.1 gives the node id of the ranks of the own host only, but the host name of all. */
    if (find_by_key(self, size, PMIX_HOSTNAME, hosts) || find_by_key(self, size, PMIX_NODEID, hosts) ||
        find_by_peers(self, size, hosts))
        return WEFT_SUCCESS;
    return core_error(WEFT_ERR_BOOTSTRAP, "the PMIx launcher does not tell which processes share a host");
}
