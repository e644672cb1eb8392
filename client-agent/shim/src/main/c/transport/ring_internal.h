// SPDX-License-Identifier: Apache-2.0
// What the ring and its writer thread share.
#pragma once

#include "transport/ring.h"

enum { RING_BYTES = 2 << 20 };

/**
 * Positions count bytes since the session began; a frame never wraps: where it would, the rest of the
 * lap is skipped. tail <= head <= tail + RING_BYTES, so at most one skip lies between them.
 */
struct ring {
  // Appending
  struct lock lock __attribute__((aligned(64)));
  uint8_t *bytes;
  uint64_t begun, end;  // the frame being appended
  uint64_t head;        // where the next frame goes
  uint64_t tailSeen;    // some earlier value of tail
  // Between appending and writing
  uint64_t published __attribute__((aligned(64)));  // what may be written: follows head
  uint64_t skipFrom;                                // where the latest skip begins
  uint64_t wanted;                                  // what somebody waits to see written
  // Writing
  struct lock role __attribute__((aligned(64)));  // held by whoever writes to the socket
  uint64_t tail;                                  // what has been written
  uint64_t lastSendNanos;
  uint32_t room;         // futex: changes when room was made
  uint32_t roomWanted;   // somebody sleeps on it
};

enum writer_state { WRITER_ABSENT, WRITER_ASLEEP, WRITER_AWAKE, WRITER_IMPOSSIBLE };

/** The thread that sends what has gathered in the ring. */
struct writer {
  uint32_t state;  // futex: enum writer_state
  struct lock starting;
};

/** Writes what has gathered, unless somebody else is writing, who then does. */
void ring_drain(struct connection *connection);

/** Sees that the writer thread is awake; false if there is none and cannot be. */
bool writer_wake(struct connection *connection);

/** Whether the writer thread looks at the ring by itself every now and then. */
static inline bool writer_awake(const struct writer *writer) {
  return __atomic_load_n(&writer->state, __ATOMIC_SEQ_CST) == WRITER_AWAKE;
}
