// SPDX-License-Identifier: BSD-3-Clause
/*
 * Flow control between processes. Messages that are copied on their way may find no receive, and pile up. When those of a rank take more
 * than WEFT_UNEXPECTED_LIMIT, whoever sends it more is told to stop: from then on his messages stay with him until they are
 * fetched. When half of it is free again he is told to go on. What is on its way meanwhile comes on top.
 */
#include <hier/comm.h>

void hier_flow_kept(hier_world *world, int process, intra_mailbox *mailbox) {
    hier_peer *peer = &world->carrier.peers[process];
    if (peer->wants_stop ||
        atomic_load_explicit(&mailbox->parcel_bytes, memory_order_relaxed) <= mailbox->limits.unexpected_bytes)
        return;
    peer->wants_stop = true;
    world->carrier.stops++;
}

/* Has every rank of this process got room again? */
static bool is_relieved(const hier_world *world) {
    for (size_t context = 0; context < INTER_CONTEXTS; context++) {
        const hier_boxes *boxes = &world->carrier.boxes[context];
        for (int thread = 0; thread < boxes->threads; thread++) {
            const intra_mailbox *mailbox = &boxes->mailboxes[thread];
            if (atomic_load_explicit(&mailbox->parcel_bytes, memory_order_relaxed) >
                mailbox->limits.unexpected_bytes / 2)
                return false;
        }
    }
    return true;
}

static bool tell(hier_world *world, int process, bool stop) {
    hier_peer *peer = &world->carrier.peers[process];
    inter_transport *transport = world->engine.lines ? world->engine.lines : world->transport;
    if (peer->completion.pending)
        return false; /* what it was told last is still on its way out */
    peer->completion = (inter_completion){0};
    peer->request = (inter_request){.completion = &peer->completion};
    inter_am_header header = hier_carrier_control(stop, peer->sent);
    if (transport->am_send(transport, process, &header, NULL, 0, false, &peer->request))
        return false;
    peer->sent++;
    peer->told_stop = stop;
    return true;
}

bool hier_flow_progress(hier_world *world) {
    bool relieved = is_relieved(world), told = false;
    for (int process = 0; process < world->transport->size; process++) {
        hier_peer *peer = &world->carrier.peers[process];
        if (!peer->wants_stop)
            continue;
        if (!peer->told_stop) {
            told |= tell(world, process, true);
        } else if (relieved && tell(world, process, false)) {
            peer->wants_stop = false;
            world->carrier.stops--;
            told = true;
        }
    }
    return told;
}
