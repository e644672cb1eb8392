// SPDX-License-Identifier: Apache-2.0
// The send ring: all threads append frames, in the one order of the session, and the thread that writes takes
// all that has gathered. Appending allocates nothing and makes no system call while the writer is awake.
#pragma once

#include "transport/connection.h"

/** Room for one frame, or NULL if the session is lost. The ring stays locked until it is posted. */
uint64_t *ring_begin(struct connection *connection, uint32_t bytes);

/** Ends the frame begun: it leaves soon, or at once if nothing was sent for a while. */
CUresult ring_post(struct connection *connection);

/** Ends the frame begun and sees that it leaves now. */
void ring_post_now(struct connection *connection);

/** Reserves the ring; false if there is no memory. Called before there is a session. */
bool ring_open(struct connection *connection);
