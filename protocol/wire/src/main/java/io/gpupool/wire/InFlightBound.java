// SPDX-License-Identifier: Apache-2.0
package io.gpupool.wire;

/**
 * Limits of {@code --in-flight-bound}: how long the work may take, in milliseconds, that is under
 * way on a GPU while another waits for its time slice.
 */
public final class InFlightBound {
  /** The bound unless it is given. */
  public static final int USUAL_MILLIS = 4;

  private static final int MAX_MILLIS = 1000;

  private InFlightBound() {}

  /**
   * Returns the bound.
   *
   * @throws IllegalArgumentException if it cannot be
   */
  public static int check(int millis) {
    if (millis < 1 || millis > MAX_MILLIS) {
      throw refusal(Integer.toString(millis));
    }
    return millis;
  }

  /**
   * Reads a bound.
   *
   * @throws IllegalArgumentException if it cannot be
   */
  public static int parse(String millis) {
    try {
      return check(Integer.parseInt(millis));
    } catch (NumberFormatException e) {
      throw refusal(millis);
    }
  }

  private static IllegalArgumentException refusal(String millis) {
    return new IllegalArgumentException(
        "--in-flight-bound " + millis + ": give 1 to " + MAX_MILLIS + " milliseconds");
  }
}
