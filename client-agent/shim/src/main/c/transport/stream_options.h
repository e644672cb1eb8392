// SPDX-License-Identifier: Apache-2.0
// The socket options of call streams, and what TCP knows of the other end.
#pragma once

#include "transport/connection.h"

#include <stdbool.h>

/** Sets the options of a call stream; watched: it breaks when the other end has been silent for about five seconds. */
void stream_options(int stream, bool watched);

/**
 * Returns whether a TCP stream has bytes under way and nothing has come from the other end for five seconds. While none
 * are under way, the options see to it.
 */
bool stream_is_silent(int stream);

/**
 * Has the socket of a connection wake the thread that waits to receive once so many bytes have come: 1, or twice as
 * many are on their way. The reading is the caller's.
 */
void stream_wake_for(struct connection *connection, int bytes);
