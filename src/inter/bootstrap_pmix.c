// SPDX-License-Identifier: BSD-3-Clause
/**
 * The bootstrap over a launcher's PMIx server (weftrun, mpirun, prterun, srun --mpi=pmix).
 *
 * publish hands the address to the server of this host and no further; it travels when a peer asks for it (lookup), once.
 */
#include <core/error.h>
#include <inter/bootstrap.h>
#include <inter/pmix_client.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    void *address; /* NULL: not looked up yet */
    size_t bytes;
};

struct pmix {
    inter_bootstrap base;
    pmix_proc_t self;
    char key[32];
    struct entry *entries; /* by rank */
    int *hosts;            /* by rank: the lowest rank on the same host */
};

/* Data that was put stays in the launcher for the whole job, so each start of weft in a process uses a key of its own. Counted where all
 * processes meet: a start that failed before that in one of them is made again with the key that the others have. */
static int starts = 0;

static int failed(const char *what, pmix_status_t status) {
    return core_error(WEFT_ERR_BOOTSTRAP, "the PMIx launcher cannot %s: %s (%d)", what, PMIx_Error_string(status),
                      status);
}

static int pmix_fence(inter_bootstrap *self) {
    struct pmix *pmix = (struct pmix *)self;
    pmix_proc_t all;
    PMIX_LOAD_PROCID(&all, pmix->self.nspace, PMIX_RANK_WILDCARD);
    pmix_status_t status = PMIx_Fence(&all, 1, NULL, 0);
    if (status == PMIX_SUCCESS)
        return WEFT_SUCCESS;
    if (status == PMIX_ERR_PARTIAL_SUCCESS || status == PMIX_ERR_LOST_CONNECTION)
        return core_error(
            WEFT_ERR_PROC_FAILED,
            "a process of the job ended before it came to a fence: %s (each runs one program that uses weft, "
            "not several in a row)",
            PMIx_Error_string(status));
    return failed("complete a fence", status);
}

static int pmix_publish(inter_bootstrap *self, const void *address, size_t bytes) {
    struct pmix *pmix = (struct pmix *)self;
    /* PMIx_Put copies; the cast only drops const. */
    pmix_value_t value = {.type = PMIX_BYTE_OBJECT, .data.bo = {.bytes = (char *)address, .size = bytes}};
    pmix_status_t status = PMIx_Put(PMIX_GLOBAL, pmix->key, &value);
    if (status == PMIX_SUCCESS)
        status = PMIx_Commit();
    if (status != PMIX_SUCCESS)
        return failed("take this process's address", status);
    int code = pmix_fence(self);
    if (!code)
        starts++;
    return code;
}

static int pmix_lookup(inter_bootstrap *self, int peer, const void **address, size_t *bytes) {
    struct pmix *pmix = (struct pmix *)self;
    if (peer < 0 || peer >= self->size)
        return core_error(WEFT_ERR_RANK, "there is no process %d among the %d of this job", peer, self->size);
    struct entry *entry = &pmix->entries[peer];
    if (!entry->address) {
        pmix_proc_t proc;
        pmix_value_t *value = NULL;
        PMIX_LOAD_PROCID(&proc, pmix->self.nspace, (pmix_rank_t)peer);
        pmix_status_t status = PMIx_Get(&proc, pmix->key, NULL, 0, &value);
        if (status != PMIX_SUCCESS)
            return core_error(WEFT_ERR_BOOTSTRAP, "the PMIx launcher does not know the address of process %d: %s (%d)",
                              peer, PMIx_Error_string(status), status);
        if (value->type == PMIX_BYTE_OBJECT && value->data.bo.size > 0 && value->data.bo.bytes) {
            *entry = (struct entry){value->data.bo.bytes, value->data.bo.size};
            value->data.bo = (pmix_byte_object_t){NULL, 0}; /* it is ours now */
        }
        PMIX_VALUE_RELEASE(value);
        if (!entry->address)
            return core_error(WEFT_ERR_BOOTSTRAP,
                              "the PMIx launcher delivers something that is no address for process %d", peer);
    }
    *address = entry->address;
    *bytes = entry->bytes;
    return WEFT_SUCCESS;
}

static int pmix_host(inter_bootstrap *self, int peer) {
    return ((struct pmix *)self)->hosts[peer];
}

static void pmix_close(inter_bootstrap *self) {
    struct pmix *pmix = (struct pmix *)self;
    inter_pmix_release();
    for (int peer = 0; peer < self->size; peer++)
        free(pmix->entries[peer].address);
    free(pmix->entries);
    free(pmix->hosts);
    free(pmix);
}

/* What the launcher tells about the job. */
static int learn(struct pmix *pmix) {
    uint32_t size = 0;
    if (!inter_pmix_number(&pmix->self, PMIX_RANK_WILDCARD, PMIX_JOB_SIZE, &size))
        return core_error(WEFT_ERR_BOOTSTRAP, "the PMIx launcher does not tell the size of the job");
    if (size < 1 || size > INT32_MAX || pmix->self.rank >= size)
        return core_error(WEFT_ERR_BOOTSTRAP, "the PMIx launcher calls this process %u of %u", pmix->self.rank, size);
    pmix->entries = calloc(size, sizeof(*pmix->entries));
    pmix->hosts = calloc(size, sizeof(*pmix->hosts));
    if (!pmix->entries || !pmix->hosts)
        return core_error(WEFT_ERR_NOMEM, "no memory for the addresses of %u processes", size);
    pmix->base.rank = (int)pmix->self.rank;
    pmix->base.size = (int)size;
    return inter_pmix_hosts(&pmix->self, (int)size, pmix->hosts);
}

int inter_bootstrap_pmix(inter_bootstrap **bootstrap) {
    struct pmix *pmix = calloc(1, sizeof(*pmix));
    if (!pmix)
        return core_error(WEFT_ERR_NOMEM, "no memory for the bootstrap");
    int code = inter_pmix_connect(&pmix->self);
    if (code != WEFT_SUCCESS) {
        free(pmix);
        return code;
    }
    pmix->base = (inter_bootstrap){.name = "pmix",
                                   .publish = pmix_publish,
                                   .lookup = pmix_lookup,
                                   .host = pmix_host,
                                   .fence = pmix_fence,
                                   .close = pmix_close};
    snprintf(pmix->key, sizeof(pmix->key), "weft.address.%d", starts);
    code = learn(pmix);
    if (code != WEFT_SUCCESS) {
        pmix_close(&pmix->base);
        return code;
    }
    *bootstrap = &pmix->base;
    return WEFT_SUCCESS;
}
