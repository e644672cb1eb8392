// SPDX-License-Identifier: Apache-2.0
// A call stream that is sealed: what is written becomes records, and only whole records are read.
#pragma once

#include "transport/connection.h"

enum { SEAL_SECRET_DIGITS = 2 * SEAL_SECRET_BYTES };

/**
 * Begins to seal a connection's stream, in place of what was sealed before. The caller has both roles, or nobody uses
 * the connection yet.
 *
 * @param secret in hexadecimal; empty: the stream is not sealed
 * @return false if the secret is none, or there is no memory
 */
bool sealed_begin(struct connection *connection, const char *secret);

/** Ends the session: what came is no record that the worker sealed in this place. */
void sealed_altered(void);

/** Bytes of sealed records that are still to be sent. */
static inline uint32_t sealed_unsent(const struct seal *seal) { return seal->ready - seal->sent; }

/**
 * Seals the first bytes of some buffers, once all that was sealed before is sent.
 *
 * @param faulted whether the first of them cannot be read; zeros take the place of its page
 * @return how many bytes; 0 on an internal failure
 */
size_t sealed_fill(struct connection *connection, const struct iovec *vector, int count, bool *faulted);

/**
 * Receives records, and opens them.
 *
 * @param content has room for READ_BUFFER_BYTES; left: how much of that is taken at its end
 * @return the length of their content; 0: the stream has ended; -1 and errno, EBADMSG if one was altered
 */
ssize_t sealed_receive(struct connection *connection, uint8_t *content, uint32_t roomBytes, bool wait);

/** Sends and receives a whole record on a stream that waits; answers the content's length, or -1 as above. */
bool sealed_send_one(struct connection *connection, int stream, const void *content, size_t bytes);
ssize_t sealed_receive_one(struct connection *connection, int stream, void *content, size_t roomBytes);
