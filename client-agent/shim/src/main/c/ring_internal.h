// SPDX-License-Identifier: Apache-2.0
// What the ring and its writer thread share.
#pragma once

#include "ring.h"

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

extern struct ring ring;

/** Writes what has gathered, unless somebody else is writing, who then does. */
void ring_drain(void);

/** Sees that the writer thread is awake; false if there is none and cannot be. */
bool writer_wake(void);

/** Whether the writer thread looks at the ring by itself every now and then. */
bool writer_awake(void);

void writer_reset(void);
