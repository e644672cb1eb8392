// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device;

import java.util.Arrays;
import java.util.OptionalLong;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The numbers that the devices choose for what one thread makes: addresses of memory, values of
 * textures. They are noted, so that the same can be made again under the same numbers in another
 * process. Other threads are not concerned.
 */
public final class Placements {
  private volatile @Nullable Thread thread;
  private long[] noted = new long[4];
  private int count;
  private long[] planned = new long[0];
  private int next;
  private boolean restoring;

  /** Notes the numbers that are chosen in the calling thread from now on. */
  public void begin() {
    thread = Thread.currentThread();
    count = 0;
  }

  /** Returns the numbers chosen since {@link #begin}. */
  public long[] end() {
    thread = null;
    return Arrays.copyOf(noted, count);
  }

  /** Has the next numbers of the calling thread be these, in place of choices. */
  public void plan(long[] numbers) {
    planned = numbers.clone();
    next = 0;
    begin();
  }

  /** Returns whether what was planned last has all been used. */
  public boolean isUsedUp() {
    return next == planned.length;
  }

  /** Begins or ends the time in which a session is made again. */
  public void setRestoring(boolean isRestoring) {
    restoring = isRestoring;
    thread = null;
    planned = new long[0];
    next = 0;
  }

  /** Returns whether a session is being made again. */
  public boolean isRestoring() {
    return restoring;
  }

  /** Returns the number to be used next; empty if the device chooses. */
  public OptionalLong next() {
    return thread == Thread.currentThread() && next < planned.length
        ? OptionalLong.of(planned[next++])
        : OptionalLong.empty();
  }

  /**
   * Makes something under the number to be used next, or else under one that the device chooses,
   * and takes note of it.
   *
   * @param makeAt makes it under a number
   * @param make makes it, and returns the number that was chosen
   * @return the number
   */
  public long make(LongConsumer makeAt, LongSupplier make) {
    OptionalLong wanted = next();
    long number;
    if (wanted.isPresent()) {
      number = wanted.getAsLong();
      makeAt.accept(number);
    } else {
      number = make.getAsLong();
    }
    note(number);
    return number;
  }

  /** Takes note of a number that was chosen, or was planned. */
  public void note(long number) {
    if (thread == Thread.currentThread()) {
      if (count == noted.length) {
        noted = Arrays.copyOf(noted, 2 * count);
      }
      noted[count++] = number;
    }
  }
}
