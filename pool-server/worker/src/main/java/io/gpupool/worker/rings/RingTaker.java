// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.rings;

import io.gpupool.cuda.RingState;
import io.gpupool.worker.os.Futex;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;

/**
 * The taking end of a ring of bytes that another process puts in. It keeps its position to itself
 * and checks the other's, which may be anything. Used by one thread at a time.
 */
final class RingTaker {
  /** The part of a long copy after which the other process gets the room back. */
  private static final int CHUNK_BYTES = 128 << 10;

  private final long state;
  private final long bytes;
  private final int capacity;
  private long taken;

  RingTaker(long state, long bytes, int capacity) {
    this.state = state;
    this.bytes = bytes;
    this.capacity = capacity;
  }

  /**
   * Takes what there is, up to so many bytes.
   *
   * @return their number, EAGAIN negated if there are none, or EPROTO negated if the other position
   *     is not possible
   */
  long take(long to, long roomBytes) {
    long there = Memory.getLongAcquire(state + RingState.HEAD) - taken;
    if (there == 0) {
      return -Posix.EAGAIN;
    }
    if (there < 0 || there > capacity) {
      return -Posix.EPROTO;
    }
    long most = Math.min(there, roomBytes);
    long copied = 0;
    while (copied < most) {
      int at = (int) (taken & (capacity - 1));
      long part = Math.min(Math.min(most - copied, capacity - at), CHUNK_BYTES);
      Memory.copy(bytes + at, to + copied, part);
      copied += part;
      taken += part;
      giveRoom(there - copied);
    }
    return copied;
  }

  private void giveRoom(long leftBytes) {
    Memory.putLongVolatile(state + RingState.TAIL, taken);
    long full = state + RingState.FULL;
    // With room for a few bytes the other process would soon wait again.
    if (leftBytes <= capacity / 2
        && Memory.getIntVolatile(full) != 0
        && Memory.getAndSetInt(full, 0) != 0) {
      Futex.wakeAll(full);
    }
  }

  /**
   * Has the other process wake this one by a byte on the socket.
   *
   * @return false if something has come already
   */
  boolean beginSleep() {
    Memory.putIntVolatile(state + RingState.ASLEEP, 1);
    return Memory.getLongVolatile(state + RingState.HEAD) == taken;
  }

  void endSleep() {
    int ignored = Memory.getAndSetInt(state + RingState.ASLEEP, 0);
  }
}
