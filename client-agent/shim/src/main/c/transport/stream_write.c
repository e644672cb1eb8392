// SPDX-License-Identifier: Apache-2.0
#include "transport/stream_write.h"

#include "core/log.h"
#include "transport/cut.h"
#include "transport/poll.h"
#include "transport/reader.h"
#include "transport/retained.h"
#include "transport/sealed_stream.h"
#include "transport/session_state.h"
#include "transport/shared_stream.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

enum { BUFFERS = 32 };

/** Waits until the socket takes more; meanwhile answers are read, so that the worker can go on. */
static void wait_writable(struct connection *connection, const struct write_manner *manner) {
  bool own = manner->reading;
  if (manner->untilNanos) {
    // Such a wait has a limit.
    if (reader_begin(connection)) {
      reader_take(connection);
      reader_end(connection);
    }
    connection_poll(connection, POLLOUT);
  } else if (own || reader_begin(connection)) {
    if (connection_poll(connection, POLLIN | POLLOUT) & (POLLIN | POLLERR | POLLHUP)) reader_take(connection);
    if (!own) reader_end(connection);
  } else {
    // Somebody else reads, but may stop to.
    connection_poll(connection, POLLOUT);
  }
}

/** Moves past what has been sent. */
static void advance(struct iovec **vector, int *count, size_t sent) {
  while (*count > 0 && sent >= (*vector)->iov_len) {
    sent -= (*vector)->iov_len;
    (*vector)++;
    (*count)--;
  }
  if (*count > 0) {
    (*vector)->iov_base = (uint8_t *)(*vector)->iov_base + sent;
    (*vector)->iov_len -= sent;
  }
}

static ssize_t send_once(struct connection *connection, struct iovec *vector, int count) {
  if (connection->shared.on) return shared_send(connection, connection->stream, vector, count);
  struct msghdr message = {.msg_iov = vector, .msg_iovlen = (size_t)count};
  return sendmsg(connection->stream, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/**
 * After EFAULT: some memory of the program cannot be read. Sends at most one page of the first
 * buffer, or zeros if that page is the one, so that the frame keeps its length.
 */
static ssize_t send_around_fault(struct connection *connection, struct iovec *vector, bool *faulted) {
  static const uint8_t zeros[4096];
  size_t toPageEnd = sizeof zeros - (uintptr_t)vector->iov_base % sizeof zeros;
  size_t length = vector->iov_len < toPageEnd ? vector->iov_len : toPageEnd;
  struct iovec piece = {vector->iov_base, length};
  ssize_t sent = send_once(connection, &piece, 1);
  if (sent >= 0 || errno != EFAULT) return sent;
  *faulted = true;
  piece.iov_base = (void *)zeros;
  return send_once(connection, &piece, 1);
}

/** Sends what is sealed; false if it would have to wait, or cannot. */
static bool send_sealed(struct connection *connection) {
  struct seal *seal = &connection->seal;
  while (sealed_unsent(seal)) {
    struct iovec rest = {seal->outgoing + seal->sent, sealed_unsent(seal)};
    ssize_t sent = send_once(connection, &rest, 1);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    seal->sent += (uint32_t)sent;
  }
  return true;
}

/** Sends the first bytes of buffers, or as many as are sealed at a time; -1 and errno if it has to wait, or cannot. */
static ssize_t send_some(struct connection *connection, struct iovec *vector, int count, bool *faulted) {
  if (connection->seal.on) {
    if (!send_sealed(connection)) return -1;
    size_t sealed = sealed_fill(connection, vector, count, faulted);
    errno = EPROTO;
    return sealed ? (ssize_t)sealed : -1;
  }
  ssize_t sent = send_once(connection, vector, count);
  return sent < 0 && errno == EFAULT ? send_around_fault(connection, vector, faulted) : sent;
}

/** Returns whether nothing is left to send of what was given to it. */
static bool all_sent(struct connection *connection) {
  return !connection->seal.on || send_sealed(connection);
}

bool stream_write(struct connection *connection, struct iovec *vector, int count, const struct write_manner *manner,
                  bool *faulted) {
  advance(&vector, &count, 0);
  while (count > 0 || !all_sent(connection)) {
    if (!session_alive()) return false;
    ssize_t sent = count > 0 ? send_some(connection, vector, count, faulted) : -1;
    if (sent >= 0) {
      advance(&vector, &count, (size_t)sent);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      wait_writable(connection, manner);
    } else if (errno != EINTR) {
      cut_report(connection, strerror(errno));
      return false;
    }
  }
  return true;
}

bool stream_write_retained(struct connection *connection, const struct write_manner *manner) {
  struct iovec vector[BUFFERS];
  while (session_alive() && !cut_now(connection)) {
    int count = retained_unwritten(connection, vector, BUFFERS);
    bool faulted = false;
    if (!count && all_sent(connection)) return true;
    ssize_t sent = count ? send_some(connection, vector, count, &faulted) : -1;
    int error = errno;
    if (faulted) retained_unreadable(connection);
    if (sent >= 0) {
      retained_wrote(connection, (uint64_t)sent);
    } else if (error == EAGAIN || error == EWOULDBLOCK) {
      if (manner->untilNanos && now_nanos() > manner->untilNanos) return false;
      wait_writable(connection, manner);
    } else if (error != EINTR) {
      cut_report(connection, strerror(error));
    }
  }
  return false;
}
