// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.rings;

import io.gpupool.cuda.RingState;
import io.gpupool.worker.os.Futex;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import java.util.concurrent.TimeUnit;

/**
 * The putting end of a ring of bytes that another process takes out. It keeps its position to
 * itself and checks the other's, which may be anything. Used by one thread at a time.
 */
final class RingPutter {
  /** The part of a long copy that the other process sees, and works on, before the rest. */
  private static final int CHUNK_BYTES = 128 << 10;

  /** A wait for room ends so often, to look whether the other process is there. */
  private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  private final long state;
  private final long bytes;
  private final int capacity;
  private long put;

  /** Up to here the other process can see. */
  private long published;

  RingPutter(long state, long bytes, int capacity) {
    this.state = state;
    this.bytes = bytes;
    this.capacity = capacity;
  }

  /**
   * Puts in as many bytes as have room, at most a part of a long copy.
   *
   * @return their number, 0 without room, or EPROTO negated if the other position is not possible
   */
  long put(long from, long lengthBytes) {
    long room = room();
    if (room <= 0) {
      return room;
    }
    int at = (int) (put & (capacity - 1));
    long part = Math.min(Math.min(lengthBytes, room), Math.min(capacity - at, CHUNK_BYTES));
    Memory.copy(from, bytes + at, part);
    put += part;
    return part;
  }

  private long room() {
    long used = put - Memory.getLongAcquire(state + RingState.TAIL);
    return used < 0 || used > capacity ? -Posix.EPROTO : capacity - used;
  }

  /** Lets the other process see what was put in; returns whether it sleeps and must be woken. */
  boolean publish() {
    if (published == put) {
      return false;
    }
    published = put;
    // In one order for both: who begins to sleep looks again afterwards.
    Memory.putLongVolatile(state + RingState.HEAD, put);
    long asleep = state + RingState.ASLEEP;
    return Memory.getIntVolatile(asleep) != 0 && Memory.getAndSetInt(asleep, 0) != 0;
  }

  /** Waits a little for room. */
  void awaitRoom() {
    long full = state + RingState.FULL;
    Memory.putIntVolatile(full, 1);
    if (room() == 0) {
      Futex.await(full, 1, LOOK_NANOS);
    }
  }
}
