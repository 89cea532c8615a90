// SPDX-License-Identifier: BSD-3-Clause
#include <intra/meeting.h>

void intra_await_slot(intra_member *member, uint64_t sequence) {
    intra_team *team = member->team;
    uint64_t last_use = sequence - team->slots, all = UINT64_MAX;
    for (int thread = 0; thread < team->threads; thread++) {
        if (thread == member->thread)
            continue;
        core_flag *flag = &team->completed[thread].flag;
        core_flag_wait(flag, last_use, &team->waiting);
        /* Acquire: pairs with intra_end. Often it is far ahead, and saves the next collectives from looking. */
        uint64_t completed = atomic_load_explicit(&flag->value, memory_order_acquire);
        all = completed < all ? completed : all;
    }
    member->known = all == UINT64_MAX ? sequence - 1 : all;
}
