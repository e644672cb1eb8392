// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.request;

import com.fasterxml.jackson.databind.JsonNode;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A parser of numbers as Kubernetes writes them, such as {@code 2}, {@code 0.5}, {@code 500m},
 * {@code 8Gi} and {@code 1e3}, by the grammar of apimachinery's {@code resource.Quantity}. It is
 * exact, where apimachinery rounds to nano and cuts off at 2^63-1.
 */
public final class Quantity {
  private static final Pattern FORM =
      Pattern.compile(
          "([+-]?(?:[0-9]+(?:\\.[0-9]*)?|\\.[0-9]+))"
              + "(?:[eE]([+-]?[0-9]+)|([numkMGTPE]|[KMGTPE]i))?");

  /** More than any number of bytes needs; anything longer would take room and mean nothing. */
  private static final int MAX_LENGTH = 64;

  private static final int MAX_EXPONENT = 60;

  private static final Map<String, Integer> TENS =
      Map.of("n", -9, "u", -6, "m", -3, "k", 3, "M", 6, "G", 9, "T", 12, "P", 15, "E", 18);
  private static final String BINARY = "KMGTPE";

  private Quantity() {}

  /**
   * Parses a number.
   *
   * @throws NumberFormatException if the text is not a number; the message goes on from "X " for
   *     people
   */
  public static BigDecimal parse(String text) {
    if (text.length() > MAX_LENGTH) {
      throw new NumberFormatException("has over " + MAX_LENGTH + " characters");
    }
    Matcher parts = FORM.matcher(text);
    if (!parts.matches()) {
      throw new NumberFormatException(
          "is no quantity of Kubernetes, which look like 2, 0.5, 500m or 8Gi");
    }
    BigDecimal number = new BigDecimal(parts.group(1));
    if (parts.group(2) != null) {
      return number.scaleByPowerOfTen(exponent(parts.group(2)));
    }
    String suffix = parts.group(3);
    if (suffix == null) {
      return number;
    }
    return suffix.endsWith("i")
        ? number.multiply(
            new BigDecimal(BigInteger.ONE.shiftLeft(10 * (1 + BINARY.indexOf(suffix.charAt(0))))))
        : number.scaleByPowerOfTen(Objects.requireNonNull(TENS.get(suffix)));
  }

  /**
   * Parses a node of a tree, a string or a bare number.
   *
   * @throws NumberFormatException as above
   */
  public static BigDecimal of(JsonNode node) {
    if (!node.isTextual() && !node.isNumber()) {
      throw new NumberFormatException("is no number");
    }
    return parse(node.asText());
  }

  private static int exponent(String digits) {
    BigInteger exponent = new BigInteger(digits);
    if (exponent.abs().compareTo(BigInteger.valueOf(MAX_EXPONENT)) > 0) {
      throw new NumberFormatException("has an exponent beyond " + MAX_EXPONENT);
    }
    return exponent.intValue();
  }
}
