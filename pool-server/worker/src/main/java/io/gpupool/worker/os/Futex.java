// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.os;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** Waits on 32-bit words of memory that processes share. */
public final class Futex {
  private static final int WAIT = 0;
  private static final int WAKE = 1;
  private static final long NANOS_A_SECOND = 1_000_000_000;

  private static final ThreadLocal<MemorySegment> TIMEOUT =
      ThreadLocal.withInitial(() -> Arena.ofAuto().allocate(16, 8));

  private Futex() {}

  /**
   * Waits until the word is woken, or the time is over; returns at once if the word is not as
   * expected, and sometimes for no reason.
   */
  public static void await(long address, int expected, long timeoutNanos) {
    MemorySegment timeout = TIMEOUT.get();
    timeout.set(JAVA_LONG, 0, timeoutNanos / NANOS_A_SECOND);
    timeout.set(JAVA_LONG, 8, timeoutNanos % NANOS_A_SECOND);
    Posix.futex(address, WAIT, expected, timeout.address());
  }

  /** Wakes all threads that wait on the word. */
  public static void wakeAll(long address) {
    Posix.futex(address, WAKE, Integer.MAX_VALUE, 0);
  }
}
