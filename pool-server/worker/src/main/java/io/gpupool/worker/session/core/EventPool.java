// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.core;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.cuda.Backend;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/**
 * Events of the session's own in one context, to be used again and again. Any thread may use it.
 */
public final class EventPool {
  private static final int BLOCKING_SYNC = 1;
  private static final int DISABLE_TIMING = 2;

  private final Backend backend;
  private final MemorySegment out = Arena.ofAuto().allocate(8, 8);

  @GuardedBy("this")
  private long[] free = new long[16];

  @GuardedBy("this")
  private int count;

  EventPool(Backend backend) {
    this.backend = backend;
  }

  /** An event of the context, which must be current; or the CUresult that says why not, negated. */
  public synchronized long take() {
    if (count > 0) {
      return free[--count];
    }
    out.set(JAVA_LONG, 0, 0);
    int result = backend.cuEventCreate(out.address(), BLOCKING_SYNC | DISABLE_TIMING);
    return result == 0 ? out.get(JAVA_LONG, 0) : -result;
  }

  public synchronized void give(long event) {
    if (count == free.length) {
      free = Arrays.copyOf(free, count * 2);
    }
    free[count++] = event;
  }
}
