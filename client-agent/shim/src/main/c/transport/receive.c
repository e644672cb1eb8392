// SPDX-License-Identifier: Apache-2.0
#include "transport/receive.h"

#include "transport/cut.h"
#include "transport/sealed_stream.h"
#include "transport/session_state.h"
#include "transport/shared_stream.h"
#include "transport/stream_options.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum {
  GATHERED_BYTES = 256 << 10,            // of a long payload, for which a thread that waits is woken
  GATHERING_BYTES = 2 * GATHERED_BYTES,  // left of it: what a receive takes before it waits does not count
};

void receive_settle(struct connection *connection) {
  const struct reader *reader = &connection->reader;
  if (UNLIKELY(reader->wakesFor > 1) && reader->left < GATHERING_BYTES) stream_wake_for(connection, 1);
}

/** Moves what is in the buffer to its front. */
static void make_room(struct reader *reader) {
  if (reader->begin == reader->end) {
    reader->begin = reader->end = 0;
  } else if (reader->begin > 0) {
    memmove(reader->buffer, reader->buffer + reader->begin, reader->end - reader->begin);
    reader->end -= reader->begin;
    reader->begin = 0;
  }
}

/** The buffers for the next bytes: the payload under way, then the receive buffer. */
static int receive_vector(struct connection *connection, struct iovec vector[2]) {
  struct reader *reader = &connection->reader;
  int count = 0;
  make_room(reader);
  if (reader->underWay && reader->left && reader->sink == SINK_MEMORY && reader->to) {
    vector[count++] = (struct iovec){reader->to, reader->left};
  }
  vector[count++] = (struct iovec){reader->buffer + reader->end, READ_BUFFER_BYTES - reader->end};
  return count;
}

/** Answers what it means that nothing came. */
static int failed(struct connection *connection, ssize_t count, bool wait) {
  if (count == 0) {
    cut_report(connection, "the worker closed the connection");
  } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
    return 0;
  } else if (errno == EINTR) {
    return wait;
  } else if (errno == EBADMSG && connection->seal.on) {
    sealed_altered();
  } else if (errno == EPROTO && connection->shared.on) {
    session_malformed("positions that lie outside of the memory it shares");
  } else {
    cut_report(connection, strerror(errno));
  }
  return 1;
}

/** Receives records. Their content passes through the buffer: nothing of it may go further before it is verified. */
static int receive_sealed(struct connection *connection, bool wait) {
  struct reader *reader = &connection->reader;
  make_room(reader);
  if (wait && reader->left >= GATHERING_BYTES) stream_wake_for(connection, GATHERED_BYTES);
  ssize_t count = sealed_receive(connection, reader->buffer + reader->end, READ_BUFFER_BYTES - reader->end, wait);
  if (count <= 0) return failed(connection, count, wait);
  reader->received += (uint64_t)count;
  reader->end += (uint32_t)count;
  return 1;
}

int receive_some(struct connection *connection, bool wait) {
  if (connection->seal.on) return receive_sealed(connection, wait);
  struct reader *reader = &connection->reader;
  struct iovec vector[2];
  struct msghdr message = {.msg_iov = vector};
  message.msg_iovlen = (size_t)receive_vector(connection, vector);
  // Waking a thread costs the sender, too, and each of its segments would do it.
  if (wait && reader->left >= GATHERING_BYTES) stream_wake_for(connection, GATHERED_BYTES);
  ssize_t count = connection->shared.on
                      ? shared_receive(connection, connection->stream, vector, (int)message.msg_iovlen, wait)
                      : recvmsg(connection->stream, &message, wait ? 0 : MSG_DONTWAIT);
  if (count < 0 && errno == EFAULT && message.msg_iovlen == 2) {
    // The program's memory cannot be written: let the bytes go by.
    reader->to = NULL;
    if (reader->call) reader->call->faulted = true;
    return 1;
  }
  if (count <= 0) return failed(connection, count, wait);
  reader->received += (uint64_t)count;
  size_t rest = (size_t)count;
  if (message.msg_iovlen == 2) {
    size_t part = rest < vector[0].iov_len ? rest : vector[0].iov_len;
    if (part > reader->left) part = reader->left;
    reader->to += part;
    reader->left -= part;
    rest -= part;
  }
  reader->end += (uint32_t)rest;
  receive_settle(connection);
  return 1;
}
