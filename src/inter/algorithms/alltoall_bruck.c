// SPDX-License-Identifier: BSD-3-Clause
/*
 * alltoall BRUCK: blocks travel by the bits of the distance they have to go.
 *
 * Block j is the one for rank r + j (modulo p). In step k all blocks with bit k in j are packed into one message to r + 2^k,
 * where they are block j again, of that rank. When the highest bit of j has been travelled the block has arrived, from
 * r − j. The rotation that brings block j to place j is done while the first message is under way: this one is packed from
 * the caller's blocks.
 * Cost: ⌈log2 p⌉ steps, p⌈log2 p⌉ messages; every rank sends n elements for each bit set in 1 … p−1: n(p/2) log2 p for p a
 * power of two, log2(p)/2 times what PAIR moves. Any p, equal blocks only (a rank need not know the lengths of blocks that
 * are passing through). Memory: p blocks for those on their way, ⌊p/2⌋ each for the messages out and in. For short blocks.
 *
 *     p = 4:   to r+1: 1, 3     to r+2: 2, 3
 *
 * Source: Bruck, Ho, Kipnis, Upfal, Weathersby, "Efficient algorithms for all-to-all communications in multiport
 * message-passing systems", IEEE Trans. Parallel and Distributed Systems 8 (1997).
 */
#include <inter/algorithms.h>
#include <inter/peers.h>

typedef struct places {
    inter_place blocks, out, in;
} places;

static int run_length(const inter_view *view, int first, int distance) {
    return distance < view->size - first ? distance : view->size - first;
}

static inter_place block(inter_place blocks, const inter_view *view, int index) {
    return inter_plus(blocks, (size_t)index * view->count);
}

/* Packs the blocks with the bit `distance`, run by run. Returns how many they are. */
static int pack(inter_schedule *schedule, const inter_view *view, const places *temp, int distance) {
    int packed = 0;
    for (int first = distance; first < view->size; first += 2 * distance) {
        inter_place from = block(temp->blocks, view, first);
        if (distance == 1)
            from = block(inter_at(INTER_SEND, 0), view, inter_ring_rank(view->rank, first, view->size));
        int length = run_length(view, first, distance);
        inter_schedule_copy(schedule, from, block(temp->out, view, packed), (size_t)length * view->count);
        packed += length;
    }
    return packed;
}

/* Unpacks them at the receiver. Those of the first run have no higher bit: they have arrived. */
static void unpack(inter_schedule *schedule, const inter_view *view, const places *temp, int distance) {
    int unpacked = run_length(view, distance, distance);
    for (int index = 0; index < unpacked; index++) {
        int source = inter_ring_rank(view->rank, -(distance + index), view->size);
        inter_schedule_copy(schedule, block(temp->in, view, index), block(inter_at(INTER_RECV, 0), view, source),
                            view->count);
    }
    for (int first = 3 * distance; first < view->size; first += 2 * distance) {
        int length = run_length(view, first, distance);
        inter_schedule_copy(schedule, block(temp->in, view, unpacked), block(temp->blocks, view, first),
                            (size_t)length * view->count);
        unpacked += length;
    }
}

/* Brings block j to place j, and the rank's own to where it belongs. */
static void rotate(inter_schedule *schedule, const inter_view *view, const places *temp) {
    int rank = view->rank, behind = view->size - rank; /* blocks from the own one on */
    inter_place send = inter_at(INTER_SEND, 0);
    inter_schedule_copy(schedule, block(send, view, rank), block(inter_at(INTER_RECV, 0), view, rank), view->count);
    if (view->size <= 2)
        return;
    inter_schedule_copy(schedule, block(send, view, rank), temp->blocks, (size_t)behind * view->count);
    inter_schedule_copy(schedule, send, block(temp->blocks, view, behind), (size_t)rank * view->count);
}

void inter_alltoall_bruck(inter_schedule *schedule, const inter_view *view) {
    int size = view->size, rank = view->rank;
    places temp;
    temp.blocks = inter_schedule_temp(schedule, (size_t)size * view->count);
    temp.out = inter_schedule_temp(schedule, (size_t)(size / 2) * view->count);
    temp.in = inter_schedule_temp(schedule, (size_t)(size / 2) * view->count);
    for (int distance = 1; distance < size; distance *= 2) {
        int packed = pack(schedule, view, &temp, distance);
        inter_schedule_send(schedule, inter_ring_rank(rank, distance, size), temp.out, (size_t)packed * view->count);
        inter_schedule_recv(schedule, inter_ring_rank(rank, -distance, size), temp.in, (size_t)packed * view->count);
        if (distance == 1)
            rotate(schedule, view, &temp);
        inter_schedule_next_stage(schedule);
        unpack(schedule, view, &temp, distance);
    }
    if (size == 1)
        rotate(schedule, view, &temp);
}
