// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.block;

import io.gpupool.soft.exec.launch.DeviceFaultException;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Assertions that failed in the block being run. Each ends its thread only, so that others of the
 * block can tell of theirs; the first becomes the fault that stops the grid, at the latest when the
 * block ends. Owned by the worker thread that runs the block.
 */
public final class Assertions {
  /** The number of times that other threads may call {@code poll} after a failure. */
  private static final int MAX_POLLS = 1 << 14;

  private @Nullable DeviceFaultException first;
  private int polls;

  void begin() {
    first = null;
    polls = 0;
  }

  public Optional<DeviceFaultException> first() {
    return Optional.ofNullable(first);
  }

  void throwIfFailed() {
    if (first != null) {
      throw first;
    }
  }

  /** Lets the other threads come to their ends, but not loop without end. */
  void poll() {
    if (first != null && ++polls > MAX_POLLS) {
      throw first;
    }
  }

  /** Notes a failure of a thread. */
  public void fail(int thread, String message) {
    if (first == null) {
      first = DeviceFaultException.assertion(thread, message);
    }
  }
}
