// SPDX-License-Identifier: Apache-2.0
// Retained requests: what was sent on a stream that can be resumed, until the worker acknowledges it. The bytes stay where
// they lie, in the ring or in the program's memory, and a queue of segments says where. What is to be written is taken
// from the queue, too, so that a resumed stream goes on from any position in it.
#pragma once

#include "transport/connection.h"

#include <sys/uio.h>

/** Memory of the program that frames refer to; it stays as it is until the loan ends. */
struct loan {
  struct connection *connection;
  uint64_t bytes;   // of fields that still refer to it
  bool unreadable;  // part of it
};

/** Reserves the queue; false if there is no memory. */
bool retained_open(struct connection *connection);

/** Returns whether a frame of so many bytes can be retained now; ranges of the ring always can. */
bool retained_room(struct connection *connection, uint64_t bytes);

/** The bytes that are not acknowledged. */
uint64_t retained_bytes(struct connection *connection);

// By the thread that writes:

/** Adds a range of the ring within one lap. */
void retained_add_range(struct connection *connection, uint64_t from, uint64_t to);

/** Adds a frame whose last field lies elsewhere, and its padding. */
void retained_add_frame(struct connection *connection, const void *head, uint32_t headBytes, const void *data,
                        uint32_t dataBytes, struct loan *loan);

/** Describes what is to be written next in up to `most` buffers; answers their number. */
int retained_unwritten(struct connection *connection, struct iovec *vector, int most);

/** Moves past what has been written. */
void retained_wrote(struct connection *connection, uint64_t bytes);

/** The first byte to write cannot be read. */
void retained_unreadable(struct connection *connection);

/** Turns back to a position, which acknowledges what is before it. False: it cannot be the worker's. */
bool retained_rewind(struct connection *connection, uint64_t position);

// By any thread:

/** Forgets what the worker has received. False: it cannot have received that. */
bool retained_acknowledge(struct connection *connection, uint64_t position);

/** The position that was acknowledged. */
static inline uint64_t retained_begin(const struct connection *connection) {
  return atomic_load(&connection->retained.begin);
}

/** Lets the fields of a loan stay as they are until they are acknowledged. */
void retained_keep(struct connection *connection, struct loan *loan);

/** The bytes of fields that lie in this memory of the program. */
uint64_t retained_overlap(struct connection *connection, const void *begin, uint64_t bytes);

/**
 * Copies one field to memory of our own: one of a loan, or without loan one that lies in this memory. False: none was,
 * because there is no memory now, or because the fields are being written again.
 */
bool retained_copy(struct connection *connection, const struct loan *loan, const void *begin, uint64_t bytes);
