// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.limits;

/** Bounds of an option's number. */
final class Bounds {
  private Bounds() {}

  static void check(String option, int value, int least, int most) {
    if (value < least || value > most) {
      throw new IllegalArgumentException(option + " " + value + ": give " + least + " to " + most);
    }
  }
}
