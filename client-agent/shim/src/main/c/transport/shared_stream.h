// SPDX-License-Identifier: Apache-2.0
// A call stream in memory that the shim shares with a worker on the same machine. The socket carries the memory's
// descriptor, and then bytes that wake the side that sleeps; its end is the connection's.
#pragma once

#include "transport/connection.h"

#include <sys/uio.h>

/**
 * Begins to share memory on a connection, in place of what was shared before: receives it from the worker. The caller
 * has both roles, or nobody uses the connection yet.
 *
 * @param shares false: the stream is its socket alone
 * @return false if it cannot be mapped
 */
bool shared_begin(struct connection *connection, int stream, bool shares);

/** Results are those of sendmsg and recvmsg; EPROTO if the worker left its place in a ring. */
ssize_t shared_send(struct connection *connection, int stream, const struct iovec *vector, int count);
ssize_t shared_receive(struct connection *connection, int stream, const struct iovec *vector, int count, bool wait);

/** Has the worker wake a poll on the socket. False: an answer has come already. */
bool shared_poll_begin(struct connection *connection);

/** Something came on the socket, or it ended: the next receipt looks which. */
void shared_look(struct connection *connection);

/** Waits a little for room. */
void shared_await_room(struct connection *connection);
