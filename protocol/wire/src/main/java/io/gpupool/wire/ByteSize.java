// SPDX-License-Identifier: Apache-2.0
package io.gpupool.wire;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A size of memory as people write it: {@code 512Mi}, {@code 1.5G}, {@code 4GiB}, plain bytes.
 * {@code Ki}, {@code Mi}, {@code Gi} and {@code Ti} are powers of 1024, {@code K} to {@code T}
 * powers of 1000, as in Kubernetes.
 */
public record ByteSize(long bytes) {
  private static final Pattern FORM = Pattern.compile("(\\d{1,18}(?:\\.\\d{1,9})?)\\s*([A-Za-z]*)");
  private static final Map<String, Long> UNITS =
      Map.of(
          "", 1L,
          "k", 1_000L,
          "m", 1_000_000L,
          "g", 1_000_000_000L,
          "t", 1_000_000_000_000L,
          "ki", 1L << 10,
          "mi", 1L << 20,
          "gi", 1L << 30,
          "ti", 1L << 40);

  public ByteSize {
    if (bytes < 0) {
      throw new IllegalArgumentException("negative size: " + bytes);
    }
  }

  /**
   * Parses a size.
   *
   * @throws IllegalArgumentException if it is not one, or beyond 2^63 - 1 bytes
   */
  public static ByteSize parse(String text) {
    Matcher form = FORM.matcher(text.strip());
    if (form.matches()) {
      String unit = form.group(2).toLowerCase(Locale.ROOT);
      boolean spelled = unit.length() > 1 && unit.endsWith("b") || unit.equals("b");
      Long factor = UNITS.get(spelled ? unit.substring(0, unit.length() - 1) : unit);
      if (factor != null) {
        BigInteger bytes =
            new BigDecimal(form.group(1)).multiply(BigDecimal.valueOf(factor)).toBigInteger();
        if (bytes.bitLength() < Long.SIZE) {
          return new ByteSize(bytes.longValue());
        }
      }
    }
    throw new IllegalArgumentException(
        "'" + text + "' is not a size of memory; write for example 512Mi, 4Gi or 1.5G");
  }

  /** Three figures at most and a binary unit: {@code 2.0 GiB}, {@code 512 MiB}. */
  @Override
  public String toString() {
    String[] units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    int unit = 0;
    double value = bytes;
    while (value >= 1024 && unit < units.length - 1) {
      value /= 1024;
      unit++;
    }
    String form = unit == 0 || value >= 100 ? "%.0f %s" : "%.1f %s";
    return String.format(Locale.ROOT, form, value, units[unit]);
  }
}
