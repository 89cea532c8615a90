// SPDX-License-Identifier: BSD-3-Clause
#include <core/wait.h>
#include <intra/lane.h>

/* Looks at a lane without room, before the longer way is taken: the receiver may be at it, and then it is faster to wait. */
#define PATIENCE 100

/* Is there room for `bytes` bytes of the ring and the margin behind them? */
static bool is_free(intra_lane *lane, uint64_t bytes, bool patient) {
    uint64_t end = lane->sent + bytes + INTRA_LANE_MARGIN;
    for (int looks = patient ? PATIENCE : 1; end - lane->known_taken > INTRA_LANE_BYTES && looks; looks--) {
        /* Acquire: pairs with the receiver's release; the bytes have been read. */
        lane->known_taken = atomic_load_explicit(&lane->taken, memory_order_acquire);
        if (looks > 1)
            core_pause();
    }
    return end - lane->known_taken <= INTRA_LANE_BYTES;
}

bool intra_lane_has_room(intra_lane *lane, size_t bytes, bool patient) {
    uint64_t room = intra_lane_room(bytes), left = INTRA_LANE_BYTES - lane->sent % INTRA_LANE_BYTES;
    if (room <= left)
        return is_free(lane, room, patient);
    if (!is_free(lane, left, patient))
        return false;
    intra_lane_send(lane, INTRA_LANE_SKIP, left - sizeof(uint64_t), 0);
    return is_free(lane, room, patient);
}
