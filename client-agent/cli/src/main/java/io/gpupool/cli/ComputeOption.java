// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli;

/** The value of {@code --compute} where it cannot be left open: a part of a GPU's time. */
public final class ComputeOption {
  private ComputeOption() {}

  /**
   * Checks the value before the pool is asked, which takes 0 for an open one.
   *
   * @throws IllegalArgumentException if it is not from 1 to 100
   */
  public static double checked(double percent) {
    if (percent >= 1 && percent <= 100) {
      return percent;
    }
    throw new IllegalArgumentException("--compute " + percent + ": give 1 to 100 percent");
  }
}
