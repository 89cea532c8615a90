// SPDX-License-Identifier: BSD-3-Clause
/**
 * A PMIx client that does what its argument says, for the tests of weftrun:
 * finalize, fence (put, fence, get from the next rank), forget (ends without PMIx_Finalize), abort, segment (rank 0
 * makes a SysV segment, prints its number and kills itself), pause (prints that it is connected, and stays so).
 */
#include <pmix.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/shm.h>
#include <unistd.h>

static int exchange(const pmix_proc_t *self) {
    pmix_proc_t peer;
    pmix_value_t value, *found = NULL;
    uint32_t size = 0;
    PMIX_LOAD_PROCID(&peer, self->nspace, PMIX_RANK_WILDCARD);
    if (PMIx_Get(&peer, PMIX_JOB_SIZE, NULL, 0, &found) != PMIX_SUCCESS)
        return 20;
    size = found->data.uint32;
    PMIX_VALUE_RELEASE(found);
    uint32_t mine = self->rank + 100, theirs = (self->rank + 1) % size + 100;
    PMIX_VALUE_LOAD(&value, &mine, PMIX_UINT32);
    if (PMIx_Put(PMIX_GLOBAL, "test.value", &value) != PMIX_SUCCESS || PMIx_Commit() != PMIX_SUCCESS ||
        PMIx_Fence(&peer, 1, NULL, 0) != PMIX_SUCCESS)
        return 21;
    peer.rank = (self->rank + 1) % size;
    if (PMIx_Get(&peer, "test.value", NULL, 0, &found) != PMIX_SUCCESS)
        return 22;
    int status = found->data.uint32 == theirs ? 0 : 23;
    PMIX_VALUE_RELEASE(found);
    return status;
}

int main(int argc, char **argv) {
    const char *action = argc > 1 ? argv[1] : "finalize";
    pmix_proc_t self;
    int status = 0;
    if (PMIx_Init(&self, NULL, 0) != PMIX_SUCCESS)
        return 10;
    if (strcmp(action, "fence") == 0)
        status = exchange(&self);
    if (strcmp(action, "forget") == 0) {
        if (self.rank == 1)
            _exit(0);
        pause();
    }
    if (strcmp(action, "abort") == 0) {
        if (self.rank == 1)
            PMIx_Abort(42, "the sky fell", NULL, 0);
        pause();
    }
    if (strcmp(action, "pause") == 0) {
        puts("connected");
        fflush(stdout);
        pause();
    }
    if (strcmp(action, "segment") == 0 && self.rank == 0) {
        printf("%d\n", shmget(IPC_PRIVATE, 4096, 0600));
        fflush(stdout);
        raise(SIGKILL);
    }
    if (PMIx_Finalize(NULL, 0) != PMIX_SUCCESS)
        return 11;
    return status;
}
