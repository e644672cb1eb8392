// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.nvidia.memory;

import java.util.Arrays;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * The numbers that were chosen for the session's present call: addresses, and what the variables of
 * modules begin with. They are noted, and where a session is made again they are planned. Guarded
 * by its user.
 */
final class NumberPlan {
  private long[] noted = new long[4];
  private int count;
  private long[] planned = new long[0];
  private int next;
  private boolean restoring;
  private @Nullable String difference;

  /** Notes the numbers from now on. */
  void begin() {
    count = 0;
  }

  /** Returns the numbers since then. */
  long[] noted() {
    return Arrays.copyOf(noted, count);
  }

  /** Has the next numbers be these. */
  void plan(long[] numbers) {
    planned = numbers.clone();
    next = 0;
    difference = null;
    begin();
  }

  /** Begins or ends the time in which a session is made again. */
  void setRestoring(boolean isRestoring) {
    restoring = isRestoring;
    plan(new long[0]);
  }

  boolean isUsedUp() {
    return next == planned.length;
  }

  /** Returns the number to be used next; empty if any will do. */
  OptionalLong next() {
    return next < planned.length ? OptionalLong.of(planned[next++]) : OptionalLong.empty();
  }

  /** Takes note of a number. */
  void note(long number) {
    if (count == noted.length) {
      noted = Arrays.copyOf(noted, 2 * count);
    }
    noted[count++] = number;
  }

  /**
   * Takes note of a number that nobody can choose.
   *
   * @param what it is, for the reason where another one was planned
   */
  void require(long number, String what) {
    OptionalLong wanted = next();
    note(number);
    if (restoring && (wanted.isEmpty() || wanted.getAsLong() != number) && difference == null) {
      difference = what + " is another than it was";
    }
  }

  /** Returns how something differs from what was planned last. */
  Optional<String> difference() {
    return Optional.ofNullable(difference);
  }
}
