// SPDX-License-Identifier: BSD-3-Clause
/**
 * Buffered sends: copied into memory that the user attached to a communicator, and sent from there.
 */
#ifndef HIER_BUFFERED_H
#define HIER_BUFFERED_H

#include <hier/message.h>

/** Sends a copy of what stands in the message's envelope; *message is over at once. WEFT_ERR_NOMEM: the attached buffer has no room. */
int hier_buffered_send(hier_message *message);

/** How many messages are in the buffer, as far as this rank has noticed: each counts as a request of the communicator. */
size_t hier_buffered_count(weft_comm *comm);

#endif
