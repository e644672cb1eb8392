// SPDX-License-Identifier: Apache-2.0
// The sender: the thread that holds its role writes all that has gathered in the ring to the socket.
#pragma once

#include "transport/connection.h"

/** Writes what has gathered, unless somebody else is writing, who then does. */
void sender_drain(struct connection *connection);

/** Sends an acknowledgement that is due; the caller has the role of the reader. */
void sender_acknowledge(struct connection *connection);

/** Sends all that has gathered. */
void sender_flush(struct connection *connection);

/** Writes what has gathered into memory shared with a worker that is awake; false: it sleeps, or another thread writes. */
bool sender_shared(struct connection *connection);

/** Sends a frame whose last field is big, straight from where it lies, in order with the others. */
CUresult sender_bulk(struct connection *connection, const void *head, uint32_t headBytes, const void *data,
                     uint64_t dataBytes);

/** Waits until more of the ring than up to `freed` is free; the ring is not locked. */
void sender_make_room(struct connection *connection, uint64_t freed);

/**
 * Sends all that has gathered and then the last frame of a stream that can be resumed, but waits no longer than until
 * then, and not at all if it is cut.
 */
bool sender_last(struct connection *connection, const void *frame, uint32_t bytes, uint64_t untilNanos);

/** Sends all that has gathered on all connections. */
void connections_flush(void);
