// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.os;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * The filter of system calls that the launcher has made for this process (seccomp): read from a
 * descriptor, put up once. Any thread may call it.
 */
public final class CallFilter {
  private static final int STEP_BYTES = 8;
  private static final int MAX_BYTES = 4096 * STEP_BYTES;

  private CallFilter() {}

  /**
   * Puts up the filter for all threads, those to come included, and closes the descriptor.
   *
   * @throws IOException if it cannot be read, or the kernel does not take it
   */
  public static void putUp(int descriptor) throws IOException {
    try (Arena arena = Arena.ofConfined()) {
      long lengthBytes = Posix.length(descriptor);
      if (lengthBytes <= 0 || lengthBytes > MAX_BYTES || lengthBytes % STEP_BYTES != 0) {
        throw new IOException("a filter of " + lengthBytes + " bytes");
      }
      long steps = Posix.mapShared(descriptor, 0, lengthBytes);
      if (steps == 0) {
        throw new IOException("the filter cannot be read");
      }
      MemorySegment program = arena.allocate(16, 8);
      program.set(JAVA_SHORT, 0, (short) (lengthBytes / STEP_BYTES));
      program.set(JAVA_LONG, 8, steps);
      int error = Posix.filterCalls(program.address());
      Posix.unmap(steps, lengthBytes);
      if (error != 0) {
        throw new IOException("seccomp: error " + Math.abs(error));
      }
    } finally {
      Posix.close(descriptor);
    }
  }
}
