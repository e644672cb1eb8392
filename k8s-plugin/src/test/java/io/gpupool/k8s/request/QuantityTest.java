// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.request;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class QuantityTest {
  private static final int RUNS = 20_000;
  private static final Map<String, BigDecimal> FACTORS =
      Map.ofEntries(
          Map.entry("", BigDecimal.ONE),
          Map.entry("n", new BigDecimal("0.000000001")),
          Map.entry("u", new BigDecimal("0.000001")),
          Map.entry("m", new BigDecimal("0.001")),
          Map.entry("k", new BigDecimal("1000")),
          Map.entry("M", new BigDecimal("1000000")),
          Map.entry("G", new BigDecimal("1000000000")),
          Map.entry("T", new BigDecimal("1000000000000")),
          Map.entry("P", new BigDecimal("1000000000000000")),
          Map.entry("E", new BigDecimal("1000000000000000000")),
          Map.entry("Ki", new BigDecimal(BigInteger.TWO.pow(10))),
          Map.entry("Mi", new BigDecimal(BigInteger.TWO.pow(20))),
          Map.entry("Gi", new BigDecimal(BigInteger.TWO.pow(30))),
          Map.entry("Ti", new BigDecimal(BigInteger.TWO.pow(40))),
          Map.entry("Pi", new BigDecimal(BigInteger.TWO.pow(50))),
          Map.entry("Ei", new BigDecimal(BigInteger.TWO.pow(60))));

  @ParameterizedTest
  @CsvSource({
    "0, 0",
    "2, 2",
    "+2, 2",
    "-1, -1",
    "0.5, 0.5",
    ".5, 0.5",
    "5., 5",
    "500m, 0.5",
    "1500m, 1.5",
    "1e3, 1000",
    "1E3, 1000",
    "1e+3, 1000",
    "25e-2, 0.25",
    "1E, 1000000000000000000",
    "1.5Gi, 1610612736",
    "8000M, 8000000000",
    "0.1Ki, 102.4",
    "1n, 0.000000001",
    "16Ei, 18446744073709551616",
    "007, 7"
  })
  void parse_whatKubernetesWrites_isExact(String text, BigDecimal value) {
    assertThat(Quantity.parse(text)).isEqualByComparingTo(value);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        " ",
        ".",
        "-",
        "+",
        "NaN",
        "Infinity",
        "inf",
        "1 ",
        " 1",
        "1,5",
        "1e",
        "1e1.5",
        "1K",
        "1mi",
        "1Bi",
        "8GiB",
        "8GB",
        "1kk",
        "1em",
        "0x10",
        "1.2.3",
        "--1",
        "half",
        "1/2",
        "50%",
        "\u0661",
        "1e99",
        "1e-99",
        "1e99999999999999999999",
        "Gi",
        "m"
      })
  void parse_somethingElse_isRefused(String text) {
    assertThatThrownBy(() -> Quantity.parse(text)).isInstanceOf(NumberFormatException.class);
  }

  @Test
  void parse_longText_isRefused() {
    assertThatThrownBy(() -> Quantity.parse("1".repeat(65)))
        .isInstanceOf(NumberFormatException.class)
        .hasMessageContaining("64");
  }

  @Test
  void of_bareNumbersOfJson_areExact() {
    JsonNodeFactory nodes = JsonNodeFactory.instance;
    assertThat(Quantity.of(nodes.numberNode(2))).isEqualByComparingTo("2");
    assertThat(Quantity.of(nodes.numberNode(0.1))).isEqualByComparingTo("0.1");
    assertThat(Quantity.of(nodes.numberNode(new BigDecimal("0.0000001"))))
        .isEqualByComparingTo("0.0000001");
    assertThatThrownBy(() -> Quantity.of(nodes.numberNode(Double.NaN)))
        .isInstanceOf(NumberFormatException.class);
    assertThatThrownBy(() -> Quantity.of(nodes.booleanNode(true)))
        .isInstanceOf(NumberFormatException.class);
    assertThatThrownBy(() -> Quantity.of(nodes.arrayNode()))
        .isInstanceOf(NumberFormatException.class);
  }

  @Test
  void parse_anyNumberWithAnySuffix_isTheirProduct() {
    Random random = new Random(7);
    String[] suffixes = FACTORS.keySet().stream().sorted().toArray(String[]::new);
    for (int i = 0; i < RUNS; i++) {
      BigDecimal number =
          new BigDecimal(new BigInteger(1 + random.nextInt(100), random), random.nextInt(12))
              .multiply(BigDecimal.valueOf(random.nextBoolean() ? 1 : -1));
      String suffix = suffixes[random.nextInt(suffixes.length)];
      String text = number.toPlainString() + suffix;
      assertThat(Quantity.parse(text))
          .as(text)
          .isEqualByComparingTo(number.multiply(FACTORS.get(suffix)));
      int exponent = random.nextInt(41) - 20;
      String scientific = number.toPlainString() + (random.nextBoolean() ? "e" : "E") + exponent;
      assertThat(Quantity.parse(scientific))
          .as(scientific)
          .isEqualByComparingTo(number.scaleByPowerOfTen(exponent));
    }
  }
}
