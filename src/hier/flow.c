// SPDX-License-Identifier: BSD-3-Clause
/*
 * Flow control between processes, a channel at a time. Messages that are copied on their way may find no receive, and pile
 * up. When those of a rank take more than WEFT_UNEXPECTED_LIMIT, whoever sends it more is told to stop: from then on his
 * messages stay with him until they are fetched. When half of it is free again he is told to go on. What is on its way
 * meanwhile comes on top.
 */
#include <hier/comm.h>
#include <hier/wire.h>

void hier_flow_kept(hier_channel *channel, int number, const intra_mailbox *mailbox) {
    hier_peer *peer = &channel->peers[number];
    if (peer->wants_stop ||
        atomic_load_explicit(&mailbox->parcel_bytes, memory_order_relaxed) <= mailbox->limits.unexpected_bytes)
        return;
    peer->wants_stop = true;
    channel->stops++;
}

/* Has every rank of this process got room again that the channel may bring messages to? */
static bool is_relieved(const hier_channel *channel) {
    for (size_t context = 0; context < channel->opened; context++) {
        const hier_boxes *boxes = &channel->boxes[context];
        for (int thread = 0; thread < boxes->threads; thread++) {
            const intra_mailbox *mailbox = &boxes->mailboxes[thread];
            if (atomic_load_explicit(&mailbox->parcel_bytes, memory_order_relaxed) >
                mailbox->limits.unexpected_bytes / 2)
                return false;
        }
    }
    return true;
}

static bool tell(hier_channel *channel, int number, bool stop) {
    hier_peer *peer = &channel->peers[number];
    inter_transport *transport = channel->transport;
    if (peer->completion.pending)
        return false; /* what it was told last is still on its way out */
    peer->completion = (inter_completion){0};
    peer->request = (inter_request){.completion = &peer->completion};
    inter_am_header header = {0};
    hier_wire_set(&header, stop ? HIER_FLAG_STOP : HIER_FLAG_GO, peer->sent);
    if (transport->am_send(transport, number, &header, NULL, 0, false, &peer->request))
        return false;
    peer->sent++;
    peer->told_stop = stop;
    return true;
}

bool hier_flow_progress(hier_channel *channel) {
    bool relieved = is_relieved(channel), told = false;
    for (int number = 0; number < channel->transport->size; number++) {
        hier_peer *peer = &channel->peers[number];
        if (!peer->wants_stop)
            continue;
        bool lost = hier_carrier_has_lost(&channel->world->carrier, number / channel->each);
        if (!lost && !peer->told_stop) {
            told |= tell(channel, number, true);
        } else if (lost || (relieved && tell(channel, number, false))) {
            peer->wants_stop = false;
            channel->stops--;
            told = true;
        }
    }
    return told;
}
