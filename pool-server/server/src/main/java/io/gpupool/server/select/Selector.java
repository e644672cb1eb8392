// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.select;

import java.util.Locale;
import java.util.regex.Pattern;

/**
 * A condition on one property of a GPU: {@code model=*H200*}, {@code label.zone=eu}, or, for
 * versions, also {@code cc>=8.0}, which reaches this class as the key {@code cc>}.
 *
 * @param property its name
 * @param atLeast whether later versions match, too
 * @param wanted a pattern, in lower case, or the version
 */
public record Selector(String property, boolean atLeast, String wanted) {
  /** What there is to select by, for messages. */
  public static final String KEYS =
      "model, server, gpu, uuid, cc, driver and label.NAME; 'cc>=8.0' and 'driver>=12.4' take later"
          + " ones, too";

  public static final String LABEL = "label.";
  private static final Pattern VERSION = Pattern.compile("\\d{1,6}(\\.\\d{1,6}){0,3}");

  /**
   * Reads one.
   *
   * @throws IllegalArgumentException if there is no such property, or it is no version
   */
  public static Selector of(String key, String value) {
    boolean atLeast = key.endsWith(">");
    String property = atLeast ? key.substring(0, key.length() - 1) : key;
    boolean version = property.equals("cc") || property.equals("driver");
    boolean known =
        switch (property) {
          case "model", "server", "gpu", "uuid", "cc", "driver" -> true;
          default -> property.startsWith(LABEL) && property.length() > LABEL.length();
        };
    if (!known || atLeast && !version) {
      throw new IllegalArgumentException("there is no selector '" + key + "'; there are " + KEYS);
    }
    if (atLeast && !VERSION.matcher(value).matches()) {
      throw new IllegalArgumentException(
          "'" + value + "' is no version, for " + property + ">=; write for example 8.0");
    }
    return new Selector(property, atLeast, value.toLowerCase(Locale.ROOT));
  }

  /** Whether a GPU will do whose property has this value. */
  public boolean accepts(String value) {
    return atLeast
        ? VERSION.matcher(value).matches() && compare(value, wanted) >= 0
        : Glob.matches(wanted, value.toLowerCase(Locale.ROOT));
  }

  private static int compare(String version, String other) {
    String[] these = version.split("\\.");
    String[] those = other.split("\\.");
    for (int i = 0; i < Math.max(these.length, those.length); i++) {
      int difference = Integer.compare(number(these, i), number(those, i));
      if (difference != 0) {
        return difference;
      }
    }
    return 0;
  }

  private static int number(String[] parts, int at) {
    return at < parts.length ? Integer.parseInt(parts[at]) : 0;
  }
}
