// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.sandbox;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** User ids that a server gives to its workers, each with a group of the same number. */
public record UserRange(long first, long last) {
  /** Above those that distributions, container engines and systemd give out. */
  public static final UserRange DEFAULT = new UserRange(1_879_048_192L, 1_879_113_727L);

  /** As many as a server can have workers at once. */
  private static final int LEAST = 2048;

  private static final long MAX_USER = (1L << 31) - 2;
  private static final Pattern TEXT = Pattern.compile("(\\d{1,10})-(\\d{1,10})");

  public UserRange {
    if (first < 1 || last > MAX_USER || last - first + 1 < LEAST) {
      throw new IllegalArgumentException(
          "--worker-uids "
              + first
              + "-"
              + last
              + ": give at least "
              + LEAST
              + " user ids from 1 to "
              + MAX_USER
              + " that nothing else on this machine has");
    }
  }

  /**
   * Reads {@code FIRST-LAST}.
   *
   * @throws IllegalArgumentException if it is no such range
   */
  public static UserRange parse(String text) {
    Matcher numbers = TEXT.matcher(text);
    if (!numbers.matches()) {
      throw new IllegalArgumentException("--worker-uids " + text + ": give FIRST-LAST");
    }
    return new UserRange(Long.parseLong(numbers.group(1)), Long.parseLong(numbers.group(2)));
  }

  long size() {
    return last - first + 1;
  }
}
