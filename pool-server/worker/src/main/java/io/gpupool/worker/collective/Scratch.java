// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Memory for what a rank sends and does not keep: slots of a segment each, used in turn, all for
 * pieces on the same outlet.
 */
final class Scratch {
  static final int SLOTS = 8;

  /** By slot, what was handed over when its piece was, itself included. */
  private final long[] ends = new long[SLOTS];

  private int slot;
  private @Nullable MemorySegment block;

  /** Waits until a slot is free for a piece, which the caller sends next. */
  long slot(Outlet outlet, long lengthBytes) throws ChannelException {
    Segments.check(lengthBytes);
    slot = (slot + 1) % SLOTS;
    outlet.awaitTaken(ends[slot]);
    ends[slot] = outlet.givenBytes() + lengthBytes;
    return address() + (long) slot * Segments.BYTES;
  }

  /** Returns where all of it lies, for those who use no slots. */
  long address() {
    MemorySegment memory = block;
    if (memory == null) {
      memory = Arena.ofAuto().allocate((long) SLOTS * Segments.BYTES, Long.BYTES);
      block = memory;
    }
    return memory.address();
  }
}
