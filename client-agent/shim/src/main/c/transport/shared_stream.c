// SPDX-License-Identifier: Apache-2.0
#include "transport/shared_stream.h"

#include "transport/descriptors.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
  ROOM_NANOS = 1000000,         // a wait for room; others may have to be served meanwhile
  UNSEEN_BYTES = 64 << 10,      // so much is not put in without the worker seeing it
  BYTES_AT_DOOR = 64,
};

static void end(struct shared *shared) {
  if (!shared->on) return;
  shared->on = false;
  munmap(shared->memory, SHARED_MEMORY_BYTES);
  close(shared->file);
}

static struct byte_ring ring_at(const struct shared *shared, int state, int bytes) {
  return (struct byte_ring){.state = shared->memory + state,
                            .bytes = shared->memory + bytes,
                            .capacity = SHARED_RING_BYTES,
                            .file = shared->file,
                            .place = bytes};
}

bool shared_begin(struct connection *connection, int stream, bool shares) {
  struct shared *shared = &connection->shared;
  end(shared);
  if (!shares) return true;
  int file = descriptor_receive(stream);
  // Without it the connection has broken, as the first receipt will tell.
  if (file < 0) return true;
  void *memory = mmap(NULL, SHARED_MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) {
    close(file);
    return false;
  }
  // In a forked child, which has a session of its own, it would only be in the way.
  madvise(memory, SHARED_MEMORY_BYTES, MADV_DONTFORK);
  shared->memory = memory;
  shared->file = file;
  shared->requests = ring_at(shared, SHARED_REQUESTS_STATE, SHARED_REQUESTS);
  shared->answers = ring_at(shared, SHARED_ANSWERS_STATE, SHARED_ANSWERS);
  atomic_store(&shared->look, false);
  shared->on = true;
  return true;
}

/** Lets the worker see what was put in. */
static void publish(struct shared *shared, int stream) {
  // If the byte finds no room, there are others that wake the worker.
  if (byte_ring_publish(&shared->requests)) send(stream, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

ssize_t shared_send(struct connection *connection, int stream, const struct iovec *vector, int count) {
  struct shared *shared = &connection->shared;
  size_t sent = 0;
  ssize_t put = 0;
  for (int i = 0; i < count && put >= 0; i++) {
    const uint8_t *from = vector[i].iov_base;
    bool own = connection_owns(connection, from);
    size_t left = vector[i].iov_len;
    while (left && put >= 0) {
      put = byte_ring_put(&shared->requests, from, left, own ? RING_MEMORY_CERTAIN : RING_MEMORY_DOUBTFUL);
      if (put < 0) break;
      from += put;
      left -= (size_t)put;
      sent += (size_t)put;
      if (byte_ring_unseen(&shared->requests) >= UNSEEN_BYTES) publish(shared, stream);
    }
  }
  publish(shared, stream);
  return sent ? (ssize_t)sent : put;
}

static ssize_t take(struct shared *shared, const struct iovec *vector, int count) {
  size_t taken = 0;
  ssize_t got = 0;
  for (int i = 0; i < count && got >= 0; i++) {
    uint8_t *to = vector[i].iov_base;
    size_t left = vector[i].iov_len;
    // The last one is the reader's buffer.
    enum byte_ring_trust trust = i < count - 1 ? RING_MEMORY_DOUBTFUL : RING_MEMORY_CERTAIN;
    while (left && got >= 0) {
      got = byte_ring_take(&shared->answers, to, left, trust);
      if (got < 0) break;
      to += got;
      left -= (size_t)got;
      taken += (size_t)got;
    }
  }
  return taken ? (ssize_t)taken : got;
}

/** Takes the bytes that wake this process; results are those of recv. */
static ssize_t answer_door(int stream, int flags) {
  char bytes[BYTES_AT_DOOR];
  return recv(stream, bytes, sizeof bytes, flags);
}

ssize_t shared_receive(struct connection *connection, int stream, const struct iovec *vector, int count, bool wait) {
  struct shared *shared = &connection->shared;
  for (;;) {
    ssize_t taken = take(shared, vector, count);
    if (taken >= 0 || errno != EAGAIN) return taken;
    bool look = atomic_load_explicit(&shared->look, memory_order_relaxed);
    if (!wait && !look) return taken;
    ssize_t got = 1;
    if (!wait) {
      atomic_store(&shared->look, false);
      got = answer_door(stream, MSG_DONTWAIT);
    } else if (byte_ring_sleep(&shared->answers)) {
      got = answer_door(stream, 0);
    }
    int error = errno;
    if (wait) byte_ring_wake(&shared->answers);
    if (got > 0) continue;
    // What was put in before the end counts.
    taken = take(shared, vector, count);
    if (taken >= 0 || errno != EAGAIN) return taken;
    errno = error;
    return got;
  }
}

bool shared_poll_begin(struct connection *connection) { return byte_ring_sleep(&connection->shared.answers); }

void shared_look(struct connection *connection) {
  if (connection->shared.on) atomic_store(&connection->shared.look, true);
}

void shared_await_room(struct connection *connection) {
  byte_ring_await_room(&connection->shared.requests, ROOM_NANOS);
}
