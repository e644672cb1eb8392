// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli;

import java.util.Locale;

/** The text of amounts, for people. */
public final class Amounts {
  private static final String[] UNITS = {"B", "KiB", "MiB", "GiB", "TiB"};

  private Amounts() {}

  public static String bytes(long bytes) {
    double value = bytes;
    int unit = 0;
    while (value >= 1024 && unit < UNITS.length - 1) {
      value /= 1024;
      unit++;
    }
    return value == Math.rint(value)
        ? String.format(Locale.ROOT, "%.0f %s", value, UNITS[unit])
        : String.format(Locale.ROOT, "%.1f %s", value, UNITS[unit]);
  }

  public static String percent(double percent) {
    return String.format(Locale.ROOT, percent == Math.rint(percent) ? "%.0f%%" : "%.1f%%", percent);
  }

  public static String age(long millis) {
    long seconds = millis / 1000;
    if (seconds < 120) {
      return seconds + "s";
    }
    if (seconds < 2 * 3600) {
      return seconds / 60 + "m";
    }
    return seconds < 48 * 3600 ? seconds / 3600 + "h" : seconds / 86400 + "d";
  }

  /** Formats a time of GPUs, which is short at first. */
  public static String time(long nanos) {
    double millis = nanos / 1e6;
    if (millis < 1000) {
      return String.format(Locale.ROOT, millis < 10 ? "%.1fms" : "%.0fms", millis);
    }
    return millis < 120_000
        ? String.format(Locale.ROOT, "%.1fs", millis / 1000)
        : age((long) millis);
  }

  public static String rate(double perSecond) {
    return perSecond < 1000
        ? String.format(Locale.ROOT, "%.0f/s", perSecond)
        : String.format(Locale.ROOT, "%.0fk/s", perSecond / 1000);
  }
}
