// SPDX-License-Identifier: Apache-2.0
// Receiving from a call stream, into the buffer of the reader or to where the payload under way goes.
#pragma once

#include "transport/connection.h"

enum { READ_BUFFER_BYTES = 128 << 10 };

/** The destination of the payload under way. */
enum sink { SINK_NONE, SINK_MEMORY, SINK_STDOUT, SINK_STDERR };

/** Receives once; 0: nothing there, 1: something came or the session is lost. The caller has the role of the reader. */
int receive_some(struct connection *connection, bool wait);

/** Has single bytes wake the reader again, once little of a long payload is left. For after bytes were taken apart. */
void receive_settle(struct connection *connection);
