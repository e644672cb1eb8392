// SPDX-License-Identifier: Apache-2.0
#include "rings/byte_ring.h"

#include "core/lock.h"
#include "wire.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum {
  CHUNK_BYTES = 128 << 10,  // of a long copy that the other side sees, and works on, before the rest
  NANOS_A_SECOND = 1000000000,
};

static _Atomic uint64_t *position(const struct byte_ring *ring, int place) {
  return (_Atomic uint64_t *)(void *)(ring->state + place);
}

static _Atomic uint32_t *flag(const struct byte_ring *ring, int place) {
  return (_Atomic uint32_t *)(void *)(ring->state + place);
}

/** A futex of several processes, unlike those of core/lock.h. */
static void shared_futex(_Atomic uint32_t *word, int operation, uint32_t value, const struct timespec *timeout) {
  syscall(SYS_futex, word, operation, value, timeout, NULL, 0);
}

static ssize_t fail(int error) {
  errno = error;
  return -1;
}

/** Bytes from a position to the end of the ring's memory. */
static size_t to_end(const struct byte_ring *ring, uint64_t at) {
  return ring->capacity - (size_t)(at & (ring->capacity - 1));
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/** Room for more bytes; -1 if the taker's position is not possible. */
static ssize_t room(const struct byte_ring *ring) {
  uint64_t used = ring->filled - atomic_load_explicit(position(ring, RING_TAIL), memory_order_acquire);
  return used <= ring->capacity ? (ssize_t)(ring->capacity - used) : fail(EPROTO);
}

/** Bytes that wait; -1 if the putter's position is not possible. */
static ssize_t waiting(const struct byte_ring *ring) {
  uint64_t there = atomic_load_explicit(position(ring, RING_HEAD), memory_order_acquire) - ring->own;
  return there <= ring->capacity ? (ssize_t)there : fail(EPROTO);
}

ssize_t byte_ring_put(struct byte_ring *ring, const void *from, size_t bytes, enum byte_ring_trust trust) {
  ssize_t free = room(ring);
  if (free <= 0) return free ? free : fail(EAGAIN);
  size_t at = (size_t)(ring->filled & (ring->capacity - 1));
  size_t part = least(least(bytes, (size_t)free), least(to_end(ring, ring->filled), CHUNK_BYTES));
  if (trust == RING_MEMORY_CERTAIN) {
    memcpy(ring->bytes + at, from, part);
  } else {
    ssize_t written = pwrite(ring->file, from, part, ring->place + (off_t)at);
    if (written <= 0) return written ? written : fail(EFAULT);
    part = (size_t)written;
  }
  ring->filled += part;
  return (ssize_t)part;
}

bool byte_ring_publish(struct byte_ring *ring) {
  if (ring->own == ring->filled) return false;
  ring->own = ring->filled;
  // In one order for both: who begins to sleep looks again afterwards.
  atomic_store(position(ring, RING_HEAD), ring->own);
  _Atomic uint32_t *asleep = flag(ring, RING_ASLEEP);
  return atomic_load(asleep) && atomic_exchange(asleep, 0);
}

void byte_ring_await_room(struct byte_ring *ring, uint64_t nanos) {
  struct timespec timeout = {(time_t)(nanos / NANOS_A_SECOND), (long)(nanos % NANOS_A_SECOND)};
  atomic_store(flag(ring, RING_FULL), 1);
  if (room(ring) == 0) shared_futex(flag(ring, RING_FULL), FUTEX_WAIT, 1, &timeout);
}

/** Lets the putter see what was taken. */
static void give_room(struct byte_ring *ring, size_t left) {
  atomic_store(position(ring, RING_TAIL), ring->own);
  _Atomic uint32_t *full = flag(ring, RING_FULL);
  // With room for a few bytes it would soon wait again.
  if (left > ring->capacity / 2 || !atomic_load(full) || !atomic_exchange(full, 0)) return;
  shared_futex(full, FUTEX_WAKE, INT_MAX, NULL);
}

ssize_t byte_ring_take(struct byte_ring *ring, void *to, size_t bytes, enum byte_ring_trust trust) {
  ssize_t there = waiting(ring);
  if (there <= 0) return there ? there : fail(EAGAIN);
  size_t at = (size_t)(ring->own & (ring->capacity - 1));
  size_t part = least(least(bytes, (size_t)there), least(to_end(ring, ring->own), CHUNK_BYTES));
  if (trust == RING_MEMORY_CERTAIN) {
    memcpy(to, ring->bytes + at, part);
  } else {
    ssize_t got = pread(ring->file, to, part, ring->place + (off_t)at);
    if (got <= 0) return got ? got : fail(EFAULT);
    part = (size_t)got;
  }
  ring->own += part;
  give_room(ring, (size_t)there - part);
  return (ssize_t)part;
}

bool byte_ring_sleep(struct byte_ring *ring) {
  atomic_store(flag(ring, RING_ASLEEP), 1);
  return atomic_load(position(ring, RING_HEAD)) == ring->own;
}

bool byte_ring_taker_sleeps(const struct byte_ring *ring) { return atomic_load(flag(ring, RING_ASLEEP)) != 0; }

bool byte_ring_wake(struct byte_ring *ring) { return atomic_exchange(flag(ring, RING_ASLEEP), 0) != 0; }
