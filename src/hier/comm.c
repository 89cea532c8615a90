// SPDX-License-Identifier: BSD-3-Clause
/* Handles, what a communicator knows of its ranks, and the end of those that were made of others. */
#include <core/error.h>
#include <hier/channels.h>
#include <hier/check.h>
#include <hier/checked.h>
#include <hier/drive.h>
#include <hier/ledger.h>
#include <hier/lending.h>
#include <hier/part.h>
#include <hier/request.h>
#include <hier/ring.h>
#include <stddef.h>
#include <stdlib.h>
#include <weft/comm.h>

static core_pool comms = CORE_POOL_INITIALIZER;

weft_comm *hier_comm_take(void) {
    return core_pool_take(&comms, sizeof(weft_comm), HIER_COMM_MAGIC);
}

bool hier_comm_give(weft_comm *comm) {
    return core_pool_give(&comms, comm, HIER_COMM_MAGIC);
}

int weft_rank(const weft_comm *comm) {
    return hier_comm_valid(comm) ? comm->rank : hier_no_comm(__func__);
}

int weft_size(const weft_comm *comm) {
    return hier_comm_valid(comm) ? comm->size : hier_no_comm(__func__);
}

int weft_node(const weft_comm *comm) {
    return hier_comm_valid(comm) ? comm->node : hier_no_comm(__func__);
}

int weft_thread(const weft_comm *comm) {
    return hier_comm_valid(comm) ? comm->thread : hier_no_comm(__func__);
}

int weft_nodes(const weft_comm *comm) {
    return hier_comm_valid(comm) ? comm->layout->nodes : hier_no_comm(__func__);
}

int weft_node_threads(const weft_comm *comm, int node) {
    if (!hier_comm_valid(comm))
        return hier_no_comm(__func__);
    if (node < 0 || node >= comm->layout->nodes)
        return core_error(WEFT_ERR_RANK, "rank %d: weft_node_threads: node is %d, expected 0 … %d", comm->rank, node,
                          comm->layout->nodes - 1);
    return hier_layout_threads(comm->layout, node);
}

/*
 * Freeing.
 */

static void dissolve(hier_errand *errand) {
    hier_team_give((weft_team *)(void *)((char *)errand - offsetof(weft_team, dissolve)));
}

void hier_team_dissolve(weft_team *team) {
    hier_roster_unlist(&team->world->roster, &team->listed);
    team->dissolve.run = dissolve;
    if (team->context == HIER_NO_CONTEXT ||
        hier_may_drive(team->world)) /* the network knows nothing of it, or may be told */
        dissolve(&team->dissolve);
    else
        hier_send_errand(team->world, &team->dissolve);
}

/* The last handle of a process gives back what they share. Acquire and release: it follows whatever the others did with it. */
static void part_from_team(weft_team *team) {
    if (atomic_fetch_sub_explicit(&team->handles, 1, memory_order_acq_rel) == 1)
        hier_team_dissolve(team);
}

static void free_thread(weft_comm *comm) {
    weft_team *team = comm->team;
    hier_retire(comm);
    hier_agent_part(comm);
    hier_messages_free(comm);
    hier_parts_free(comm);
    hier_checked_free(comm);
    if (comm->inner)
        hier_comm_give(comm->inner);
    hier_comm_give(comm);
    part_from_team(team);
}

static void free_process(weft_comm *comm) {
    hier_world *world = comm->world;
    uint32_t context = comm->context;
    hier_derived *own = comm->own;
    bool whole = true;
    hier_roster_unlist(&world->roster, &comm->listed);
    hier_funnel_enter(world);
    if (context != HIER_NO_CONTEXT) {
        hier_channel_open(&world->channel, context, (hier_boxes){0});
        whole = hier_ledger_close(world, comm->ledger);
    }
    weft_comm **link = &world->process_comm;
    while (*link && *link != comm)
        link = &(*link)->next_of_world;
    if (*link) {
        *link = comm->next_of_world;
        /* The sum of all never falls: who waits for one of several looks at that. */
        world->completions += own->mailbox.completions;
    }
    hier_funnel_leave(world);
    hier_requests_free(comm);
    hier_checked_free(comm);
    hier_messages_free(comm);
    intra_mailbox_free(&own->mailbox);
    hier_layout_free(&own->layout);
    free(own);
    hier_comm_give(comm);
    hier_context_left(world, context, whole);
}

static int check_free(const weft_comm *comm, const char *call) {
    int code = hier_check_comm(comm, call);
    if (code)
        return code;
    if (!comm->origin)
        return core_error(WEFT_ERR_ARG, "rank %d: %s: %s", comm->rank, call,
                          comm->team ? "a handle of weft_team_enter is given back with weft_team_leave"
                                     : "the process communicator of weft_process_comm belongs to weft");
    const size_t requests = hier_comm_handles(comm) + comm->operations;
    if (requests || comm->buffer.base)
        return core_error(WEFT_ERR_BUSY,
                          "rank %d: %s: %zu requests of messages and collectives are not completed or freed%s",
                          comm->rank, call, requests, comm->buffer.base ? ", a buffer is attached" : "");
    return WEFT_SUCCESS;
}

int weft_comm_free(weft_comm **comm) {
    if (!comm)
        return core_error(WEFT_ERR_ARG, "%s: comm is NULL", __func__);
    weft_comm *freed = *comm;
    int code = check_free(freed, __func__);
    if (code)
        return hier_leave_all(code);
    weft_comm *origin = freed->origin;
    if (freed->team)
        free_thread(freed);
    else
        free_process(freed);
    atomic_fetch_sub_explicit(&origin->derived, 1, memory_order_release); /* pairs with weft_finalize */
    *comm = NULL;
    return hier_leave_all(WEFT_SUCCESS);
}
