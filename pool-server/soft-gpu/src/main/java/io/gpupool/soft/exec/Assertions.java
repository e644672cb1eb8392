// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec;

import java.util.Optional;

/**
 * Assertions that failed in the block being run. Each ends its thread only, so that others of the
 * block can tell of theirs; the first becomes the fault that stops the grid, at the latest when the
 * block ends. Owned by the worker thread that runs the block.
 */
final class Assertions {
  /** How often other threads may look whether to go on after a failure, at {@code poll}. */
  private static final int MAX_POLLS = 1 << 14;

  private final ThreadBlock block;
  private Optional<DeviceFaultException> first = Optional.empty();
  private int polls;

  Assertions(ThreadBlock block) {
    this.block = block;
  }

  void begin() {
    first = Optional.empty();
    polls = 0;
  }

  Optional<DeviceFaultException> first() {
    return first;
  }

  void throwIfFailed() {
    if (first.isPresent()) {
      throw first.get();
    }
  }

  /** Lets the other threads come to their ends, but not loop forever. */
  void poll() {
    if (first.isPresent() && ++polls > MAX_POLLS) {
      throw first.get();
    }
  }

  /**
   * Notes a failure.
   *
   * @param message address of the asserted expression, as of the other texts
   * @return what is to be printed
   */
  String fail(int thread, long message, long file, int line, long function) {
    String text =
        Printf.string(block, thread, file)
            + ":"
            + line
            + ": "
            + Printf.string(block, thread, function)
            + ": block: ["
            + block.coordinates()
            + "], thread: ["
            + block.coordinates(thread)
            + "] Assertion `"
            + Printf.string(block, thread, message)
            + "` failed.";
    if (first.isEmpty()) {
      first = Optional.of(DeviceFaultException.assertion(thread, text));
    }
    return text + "\n";
  }
}
