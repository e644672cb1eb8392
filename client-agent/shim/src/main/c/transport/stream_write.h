// SPDX-License-Identifier: Apache-2.0
// Writing to a call stream: what is in buffers, or what is retained and was not written yet.
#pragma once

#include "transport/connection.h"

#include <sys/uio.h>

/** How a write waits. */
struct write_manner {
  bool reading;         // the thread has the role of the reader
  uint64_t untilNanos;  // gives up then; 0: never
};

/** Writes these buffers; false if the session is lost. *faulted: part of them could not be read. */
bool stream_write(struct connection *connection, struct iovec *vector, int count, const struct write_manner *manner,
                  bool *faulted);

/** Writes all that is retained and not written; false if the connection is cut or the session lost. */
bool stream_write_retained(struct connection *connection, const struct write_manner *manner);
