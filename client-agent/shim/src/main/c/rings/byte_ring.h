// SPDX-License-Identifier: Apache-2.0
// A ring of bytes in memory that two processes share: one puts bytes in, the other takes them out. Each keeps its own
// position to itself and checks the other's, so that neither can make the other leave the ring.
// Layout: protocol/contract/src/main/contract/wire.txt, RingState.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct byte_ring {
  uint8_t *state, *bytes;
  uint64_t own;       // position of this process
  uint64_t filled;    // of a putter: up to here bytes are in place that the taker does not see yet
  uint32_t capacity;  // a power of two
  int file;           // of the memory, for copies that must survive memory that is not there
  off_t place;        // of the bytes in it
};

/** The memory of a copy, which is the program's own: the copy fails with EFAULT if it is not mapped so. */
enum byte_ring_trust { RING_MEMORY_CERTAIN, RING_MEMORY_DOUBTFUL };

/**
 * Puts bytes in, at most as many as there is room for.
 *
 * @return how many; -1 and errno: EAGAIN without room, EFAULT, EPROTO if the state is damaged
 */
ssize_t byte_ring_put(struct byte_ring *ring, const void *from, size_t bytes, enum byte_ring_trust trust);

/** Lets the taker see all that was put in; true if it sleeps and must be woken. */
bool byte_ring_publish(struct byte_ring *ring);

/** Returns whether the taker sleeps, or is about to. */
bool byte_ring_taker_sleeps(const struct byte_ring *ring);

/** Bytes that were put in and the taker does not see. */
static inline uint64_t byte_ring_unseen(const struct byte_ring *ring) { return ring->filled - ring->own; }

/** Waits until the taker has made room, or the time is over. */
void byte_ring_await_room(struct byte_ring *ring, uint64_t nanos);

/** Takes bytes out; results are those of byte_ring_put, EAGAIN if there are none. */
ssize_t byte_ring_take(struct byte_ring *ring, void *to, size_t bytes, enum byte_ring_trust trust);

/** Has the putter wake the taker by a byte on the socket. False: something has come already. */
bool byte_ring_sleep(struct byte_ring *ring);

/** Ends that; true if no such byte is on its way. */
bool byte_ring_wake(struct byte_ring *ring);
