// SPDX-License-Identifier: BSD-3-Clause
/*
 * bcast SAG: scatter and allgather (van de Geijn).
 *
 * The vector is cut into p blocks. They are scattered over the minimum spanning tree (mst.h), each range received at its
 * place in the vector, so that nothing is copied; then a ring (as allgather nbBKT) brings every rank the others. Nothing is sent to the
 * root, which has them all: its buffer is only read, as that of a sender, also by those threads of its process that copy from it meanwhile.
 * Cost: ⌈log2 p⌉ + p−1 steps at most; p−1 + (p−1)² messages; n(log2 p)/2 elements for the scatter (p a power of two) and
 * n(p−1)²/p for the ring. Any p, any root, any n (blocks may be empty). No memory. It is for long vectors: a rank's link
 * carries less than 2n instead of the n⌈log2 p⌉ of a tree.
 *
 *     root ABCD ─▶ AB│CD ─▶ A│B│C│D ─ ring ─▶ ABCD│ABCD│ABCD│ABCD
 *
 * Source: Barnett, Gupta, Payne, Shuler, van de Geijn, Watts, "Interprocessor collective communication library
 * (InterCom)", SHPCC (1994); Chan et al. 2007.
 */
#include <inter/algorithms.h>
#include <inter/mst.h>
#include <inter/peers.h>

/* All of the vector that a rank has or is to have lies in INTER_RECV. */
static void scatter(inter_schedule *schedule, const inter_view *blocks) {
    inter_mst_edge edges[INTER_MST_MAX_EDGES];
    int count = inter_mst_edges(blocks->rank, blocks->size, blocks->root, edges);
    for (int i = 0; i < count; i++) {
        inter_place range = inter_at(INTER_RECV, inter_block_offset(blocks, edges[i].other_first));
        size_t elements = inter_blocks_count(blocks, edges[i].other_first, edges[i].other_last);
        if (edges[i].parent) {
            inter_schedule_recv(schedule, edges[i].peer, range, elements);
            inter_schedule_next_stage(schedule);
        } else {
            inter_schedule_send(schedule, edges[i].peer, range, elements);
        }
    }
    inter_schedule_next_stage(schedule);
}

/* In step k the block that came in step k−1 goes on to the right. */
static void ring(inter_schedule *schedule, const inter_view *blocks) {
    int size = blocks->size, rank = blocks->rank;
    int left = inter_ring_rank(rank, -1, size), right = inter_ring_rank(rank, 1, size);
    for (int step = 0; step < size - 1; step++) {
        int out = inter_ring_rank(rank, -step, size), in = inter_ring_rank(out, -1, size);
        if (right != blocks->root)
            inter_schedule_send(schedule, right, inter_at(INTER_RECV, inter_block_offset(blocks, out)),
                                inter_block_count(blocks, out));
        if (rank != blocks->root)
            inter_schedule_recv(schedule, left, inter_at(INTER_RECV, inter_block_offset(blocks, in)),
                                inter_block_count(blocks, in));
        inter_schedule_next_stage(schedule);
    }
}

void inter_bcast_sag(inter_schedule *schedule, const inter_view *view) {
    inter_view blocks = *view;
    blocks.cut = true;
    scatter(schedule, &blocks);
    ring(schedule, &blocks);
}
