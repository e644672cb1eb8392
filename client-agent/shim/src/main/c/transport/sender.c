// SPDX-License-Identifier: Apache-2.0
#include "transport/sender.h"

#include "core/log.h"
#include "transport/poll.h"
#include "transport/reader.h"
#include "transport/session_state.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

/** Waits until the socket takes more; meanwhile answers are read, so that the worker can go on. */
static void wait_writable(struct connection *connection) {
  if (reader_begin(connection)) {
    if (connection_poll(connection, POLLIN | POLLOUT) & (POLLIN | POLLERR | POLLHUP)) reader_take(connection);
    reader_end(connection);
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

/** Writes these buffers; false if the session is lost. *faulted: part of them could not be read. */
static bool write_all(struct connection *connection, struct iovec *vector, int count, bool *faulted) {
  advance(&vector, &count, 0);
  while (count > 0) {
    if (!session_alive()) return false;
    ssize_t sent = send_once(connection, vector, count);
    if (sent < 0 && errno == EFAULT) sent = send_around_fault(connection, vector, faulted);
    if (sent >= 0) {
      advance(&vector, &count, (size_t)sent);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      wait_writable(connection);
    } else if (errno != EINTR) {
      session_broken(strerror(errno));
      return false;
    }
  }
  return true;
}

/** Describes what lies in the ring between tail and end. */
static int ring_vector(struct connection *connection, uint64_t end, struct iovec vector[2]) {
  struct ring *ring = &connection->ring;
  uint64_t from = ring->tail;
  uint64_t skip = atomic_load_explicit(&ring->skipFrom, memory_order_relaxed);
  int count = 0;
  if (skip >= from && skip < end) {
    if (skip > from) {
      vector[count++] = (struct iovec){ring->bytes + from % RING_BYTES, skip - from};
    }
    from = (skip / RING_BYTES + 1) * RING_BYTES;
  }
  uint64_t lapEnd = (from / RING_BYTES + 1) * RING_BYTES;
  if (end > lapEnd) {
    // A frame ended where the lap does: nothing was skipped.
    vector[count++] = (struct iovec){ring->bytes + from % RING_BYTES, lapEnd - from};
    from = lapEnd;
  }
  if (end > from) vector[count++] = (struct iovec){ring->bytes + from % RING_BYTES, end - from};
  return count;
}

static void make_room(struct connection *connection, uint64_t tail) {
  struct ring *ring = &connection->ring;
  atomic_store(&ring->tail, tail);
  if (atomic_load(&ring->roomWanted)) {
    atomic_store(&ring->roomWanted, 0);
    atomic_fetch_add(&ring->room, 1);
    futex_wake(&ring->room, INT_MAX);
  }
}

/** Writes all that is in the ring, and then these. The role is held. */
static bool write_gathered(struct connection *connection, uint64_t end, struct iovec *more, int moreCount,
                           bool *faulted) {
  struct ring *ring = &connection->ring;
  struct iovec vector[5];
  int count = end > ring->tail ? ring_vector(connection, end, vector) : 0;
  for (int i = 0; i < moreCount; i++) vector[count++] = more[i];
  if (!count) return true;
  if (!write_all(connection, vector, count, faulted)) return false;
  if (end > ring->tail) make_room(connection, end);
  atomic_store_explicit(&ring->lastSendNanos, now_nanos(), memory_order_relaxed);
  return true;
}

/** Returns whether, after the role was given up, somebody waits for a frame that nobody writes. */
static bool left_behind(struct connection *connection) {
  struct ring *ring = &connection->ring;
  return session_alive() && atomic_load(&ring->wanted) >
                                atomic_load(&ring->tail);
}

static void drain_held(struct connection *connection) {
  struct ring *ring = &connection->ring;
  bool faulted = false;
  write_gathered(connection, atomic_load_explicit(&ring->published, memory_order_acquire), NULL, 0, &faulted);
}

void sender_drain(struct connection *connection) {
  struct ring *ring = &connection->ring;
  do {
    if (!lock_try(&ring->role)) return;
    drain_held(connection);
    lock_release(&ring->role);
  } while (left_behind(connection));
}

void sender_flush(struct connection *connection) {
  struct ring *ring = &connection->ring;
  lock_take(&ring->lock);
  atomic_store(&ring->wanted, ring->head);
  lock_release(&ring->lock);
  sender_drain(connection);
}

void sender_make_room(struct connection *connection, uint64_t tail) {
  struct ring *ring = &connection->ring;
  if (lock_try(&ring->role)) {
    drain_held(connection);
    lock_release(&ring->role);
    if (left_behind(connection)) sender_drain(connection);
    return;
  }
  uint32_t seen = atomic_load(&ring->room);
  atomic_store(&ring->roomWanted, 1);
  if (atomic_load(&ring->tail) == tail && session_alive()) {
    // The thread that writes may be done by now and have left nothing to wake us: look again soon.
    struct timespec soon = {0, 1000000};
    futex_wait(&ring->room, seen, &soon);
  }
}

/** Wakes the threads that wait for room. */
static void wake_all(void) {
  for (uint32_t i = 0; i < connectionCount; i++) {
    struct ring *ring = &connections[i].ring;
    atomic_fetch_add(&ring->room, 1);
    futex_wake(&ring->room, INT_MAX);
  }
}
ON_SESSION_LOST(wake_all);

CUresult sender_bulk(struct connection *connection, const void *head, uint32_t headBytes, const void *data,
                     uint64_t dataBytes) {
  struct ring *ring = &connection->ring;
  static const uint64_t zero;
  lock_take(&ring->role);
  lock_take(&ring->lock);
  uint64_t end = ring->head;
  lock_release(&ring->lock);
  struct iovec more[3] = {
      {(void *)head, headBytes},
      {(void *)data, dataBytes},
      {(void *)&zero, -dataBytes & 7},
  };
  // Nobody else can write meanwhile, so what others append now comes after.
  bool faulted = false;
  bool sent = session_alive() && write_gathered(connection, end, more, 3, &faulted);
  lock_release(&ring->role);
  if (left_behind(connection)) sender_drain(connection);
  if (!sent) return session_answer();
  return faulted ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

void connections_flush(void) {
  for (uint32_t i = 0; i < connectionCount; i++) sender_flush(&connections[i]);
}
