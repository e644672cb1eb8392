// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.select;

import io.gpupool.control.v1.GpuSelector;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * A condition on one property of a GPU: {@code model=*H200*}, {@code label.zone=eu}, or, for
 * versions, also {@code cc>=8.0}.
 *
 * @param property its name
 * @param operator how the property is compared
 * @param values patterns, of which one must match, or the version
 */
public record Selector(String property, Operator operator, List<String> values) {
  /** The properties there are, for messages. */
  public static final String KEYS =
      "model, server, gpu, uuid, cc, driver and label.NAME; 'cc>=8.0' and 'driver>=12.4' take later"
          + " ones, too";

  public static final String LABEL = "label.";
  private static final Pattern VERSION = Pattern.compile("\\d{1,6}(\\.\\d{1,6}){0,3}");

  /** The ways to compare a property with values. */
  public enum Operator {
    /** The property matches one of the values. */
    IN,
    /** The property is the version, or a later one. */
    AT_LEAST
  }

  /**
   * Checks that there is such a selector.
   *
   * @throws IllegalArgumentException if there is none; the message says what there is
   */
  public Selector {
    boolean isVersion = property.equals("cc") || property.equals("driver");
    boolean isKnown =
        switch (property) {
          case "model", "server", "gpu", "uuid", "cc", "driver" -> true;
          default -> property.startsWith(LABEL) && property.length() > LABEL.length();
        };
    if (!isKnown || operator == Operator.AT_LEAST && !isVersion) {
      throw new IllegalArgumentException(KEYS);
    }
    if (operator == Operator.AT_LEAST
        && !(values.size() == 1 && VERSION.matcher(values.getFirst()).matches())) {
      throw new IllegalArgumentException("a version such as 8.0 for " + property);
    }
    if (values.isEmpty()) {
      throw new IllegalArgumentException("a value for " + property);
    }
    values = List.copyOf(values);
  }

  /** Returns the condition that a property matches one of the patterns. */
  public static Selector in(String property, String... patterns) {
    return new Selector(property, Operator.IN, List.of(patterns));
  }

  /** Returns the condition that a property is a version or a later one. */
  public static Selector atLeast(String property, String version) {
    return new Selector(property, Operator.AT_LEAST, List.of(version));
  }

  /**
   * Reads a selector.
   *
   * @throws IllegalArgumentException if it is none; the message says what there is
   */
  public static Selector of(GpuSelector message) {
    Operator operator =
        switch (message.getOperator()) {
          case OPERATOR_IN -> Operator.IN;
          case OPERATOR_AT_LEAST -> Operator.AT_LEAST;
          case OPERATOR_UNSPECIFIED, UNRECOGNIZED ->
              throw new IllegalArgumentException("one of the operators in and at-least");
        };
    return new Selector(message.getKey(), operator, message.getValuesList());
  }

  /** Returns whether a GPU will do whose property has this value. */
  public boolean accepts(String value) {
    return switch (operator) {
      case AT_LEAST -> VERSION.matcher(value).matches() && compare(value, values.getFirst()) >= 0;
      case IN -> {
        String lower = value.toLowerCase(Locale.ROOT);
        yield values.stream()
            .anyMatch(pattern -> Glob.matches(pattern.toLowerCase(Locale.ROOT), lower));
      }
    };
  }

  /** Returns the selector as people write it: {@code cc>=8.0}. */
  public String text() {
    return property
        + (operator == Operator.AT_LEAST ? ">=" : "=")
        + values.stream().collect(Collectors.joining("|"));
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
