// SPDX-License-Identifier: BSD-3-Clause
/**
 * Cards: what a process makes known of itself through the bootstrap, in front of its address.
 *
 *     | form: version of weft, card_bytes | card | address |
 *
 * The bytes are those of a struct of the caller's: the form tells those apart that another version of weft has written.
 */
#ifndef INTER_CARD_H
#define INTER_CARD_H

#include <inter/bootstrap.h>

/** Publishes both. Collective; once. Errors: WEFT_ERR_NOMEM, and those of publish. */
int inter_card_publish(inter_bootstrap *bootstrap, const void *card, size_t card_bytes, const void *address,
                       size_t bytes);

/**
 * Looks up a peer's card of `card_bytes` bytes, aligned to nothing; its address lies behind it. It belongs to the bootstrap until close.
 * Errors: WEFT_ERR_BOOTSTRAP (it is from another version, or too short), and those of lookup.
 */
int inter_card_find(inter_bootstrap *bootstrap, int peer, size_t card_bytes, const void **card);

#endif
