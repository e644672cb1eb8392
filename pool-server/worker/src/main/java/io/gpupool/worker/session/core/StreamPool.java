// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.core;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.cuda.Backend;
import io.gpupool.worker.os.Memory;
import java.lang.foreign.Arena;
import java.util.ArrayDeque;
import java.util.Iterator;

/**
 * Streams of the session's own in one context, to be used again and again: a driver takes long to
 * make one. Any thread may use it.
 */
public final class StreamPool {
  private static final int NON_BLOCKING = 1;
  private static final int MAX_FREE = 16;

  private final Backend backend;

  @GuardedBy("this")
  private final ArrayDeque<Long> free = new ArrayDeque<>();

  StreamPool(Backend backend) {
    this.backend = backend;
  }

  /**
   * A stream with nothing in it, which waits for no other one. The context is current.
   *
   * @return the stream, or the CUresult that says why there is none, negated
   */
  public synchronized long take() {
    for (Iterator<Long> all = free.iterator(); all.hasNext(); ) {
      long stream = all.next();
      if (backend.cuStreamQuery(stream) == 0) {
        all.remove();
        return stream;
      }
    }
    try (Arena arena = Arena.ofConfined()) {
      long out = arena.allocate(8, 8).address();
      int result = backend.cuStreamCreateWithPriority(out, NON_BLOCKING, 0);
      return result == 0 ? Memory.getLong(out) : -result;
    }
  }

  /** Gives a stream back; what is in it goes on. */
  public synchronized void give(long stream) {
    if (free.size() < MAX_FREE) {
      free.add(stream);
    } else {
      // A destroyed stream still ends what is in it.
      backend.cuStreamDestroy_v2(stream);
    }
  }
}
