// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.openapi;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** A checker of strings, numbers and booleans. */
final class ScalarSchema {
  private static final int SHOWN = 40;

  private ScalarSchema() {}

  static void check(String at, JsonObject rule, JsonPrimitive value, List<String> faults) {
    String type = rule.get("type").getAsString();
    switch (type) {
      case "string" -> {
        if (!value.isString()) {
          faults.add(at + " is to be a string");
          return;
        }
        checkText(at, rule, value.getAsString(), faults);
      }
      case "boolean" -> {
        if (!value.isBoolean()) {
          faults.add(at + " is to be true or false");
        }
      }
      default -> checkNumber(at, rule, type.equals("integer"), value, faults);
    }
    if (rule.has("enum") && !rule.getAsJsonArray("enum").contains(value)) {
      List<String> names = new ArrayList<>();
      for (JsonElement name : rule.getAsJsonArray("enum")) {
        names.add(name.getAsString());
      }
      faults.add(
          at
              + " '"
              + brief(value.getAsString())
              + "' is none; it is one of "
              + String.join(", ", names));
    }
  }

  private static void checkText(String at, JsonObject rule, String text, List<String> faults) {
    int length = text.codePointCount(0, text.length());
    if (rule.has("maxLength") && length > rule.get("maxLength").getAsInt()) {
      faults.add(at + " has over " + rule.get("maxLength") + " characters");
      return;
    }
    if (rule.has("minLength") && length < rule.get("minLength").getAsInt()) {
      faults.add(at + " has under " + rule.get("minLength") + " characters");
    }
    if (text.codePoints()
        .anyMatch(c -> c >= Character.MIN_SURROGATE && c <= Character.MAX_SURROGATE)) {
      faults.add(at + " has half of a character");
    }
    if (rule.has("pattern")
        && !Pattern.compile(rule.get("pattern").getAsString()).matcher(text).find()) {
      faults.add(at + " '" + brief(text) + "' does not fit " + rule.get("pattern").getAsString());
    }
  }

  private static void checkNumber(
      String at, JsonObject rule, boolean whole, JsonPrimitive value, List<String> faults) {
    Optional<BigDecimal> number = number(value);
    if (number.isEmpty() || (whole && number.get().stripTrailingZeros().scale() > 0)) {
      faults.add(at + " is to be " + (whole ? "a whole number" : "a number"));
      return;
    }
    if (rule.has("minimum") && number.get().compareTo(rule.get("minimum").getAsBigDecimal()) < 0) {
      faults.add(at + " is below " + rule.get("minimum") + range(rule, value));
    }
    if (rule.has("maximum") && number.get().compareTo(rule.get("maximum").getAsBigDecimal()) > 0) {
      faults.add(at + " is over " + rule.get("maximum") + range(rule, value));
    }
  }

  /** What a value may be, in few words. */
  static String choice(JsonObject rule) {
    if (rule.has("enum")) {
      return rule.getAsJsonArray("enum").asList().stream()
          .map(JsonElement::getAsString)
          .collect(Collectors.joining(" or "));
    }
    if (rule.has("minimum") && rule.has("maximum")) {
      return rule.get("minimum") + " to " + rule.get("maximum");
    }
    String type = rule.has("type") ? rule.get("type").getAsString() : "object";
    return type.equals("boolean") ? "true or false" : type;
  }

  /** What was given, and what may be. */
  private static String range(JsonObject rule, JsonPrimitive value) {
    String given = " (given: " + brief(value.getAsString());
    return given
        + (rule.has("minimum") && rule.has("maximum") ? "; give " + choice(rule) : "")
        + ")";
  }

  /** Empty for what is none, or one that nobody writes in earnest. */
  private static Optional<BigDecimal> number(JsonPrimitive value) {
    try {
      return value.isNumber() ? Optional.of(value.getAsBigDecimal()) : Optional.empty();
    } catch (NumberFormatException e) {
      return Optional.empty();
    }
  }

  /** Cut to what can be repeated in a message. */
  static String brief(String text) {
    StringBuilder brief = new StringBuilder();
    text.codePoints()
        .filter(c -> !Character.isISOControl(c) && Character.isDefined(c))
        .limit(SHOWN)
        .forEach(brief::appendCodePoint);
    return brief.toString();
  }
}
