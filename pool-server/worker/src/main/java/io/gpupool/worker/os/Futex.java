// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.os;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** Waiting on a word of memory that processes share. */
public final class Futex {
  private static final long NUMBER = System.getProperty("os.arch").equals("aarch64") ? 98 : 202;
  private static final int WAIT = 0;
  private static final int WAKE = 1;
  private static final long NANOS_A_SECOND = 1_000_000_000;

  private static final MethodHandle SYSCALL =
      Linker.nativeLinker()
          .downcallHandle(
              Linker.nativeLinker().defaultLookup().findOrThrow("syscall"),
              FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_LONG),
              Linker.Option.firstVariadicArg(1));

  private static final ThreadLocal<MemorySegment> TIMEOUT =
      ThreadLocal.withInitial(() -> Arena.ofAuto().allocate(16, 8));

  private Futex() {}

  /**
   * Waits until the word is woken, or the time is over; at once if it is not as expected. May
   * return for no reason.
   */
  public static void await(long address, int expected, long timeoutNanos) {
    MemorySegment timeout = TIMEOUT.get();
    timeout.set(JAVA_LONG, 0, timeoutNanos / NANOS_A_SECOND);
    timeout.set(JAVA_LONG, 8, timeoutNanos % NANOS_A_SECOND);
    call(address, WAIT, expected, timeout.address());
  }

  /** Wakes all who wait on the word. */
  public static void wakeAll(long address) {
    call(address, WAKE, Integer.MAX_VALUE, 0);
  }

  private static void call(long address, int operation, int value, long timeout) {
    try {
      long ignored = (long) SYSCALL.invokeExact(NUMBER, address, operation, value, timeout);
    } catch (Throwable e) {
      throw new AssertionError("system call could not be made", e);
    }
  }
}
