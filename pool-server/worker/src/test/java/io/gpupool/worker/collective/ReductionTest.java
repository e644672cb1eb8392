// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.cuda.ReduceOperation;
import java.lang.foreign.Arena;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class ReductionTest {
  private static final int COUNT = 3001;

  @ParameterizedTest
  @EnumSource(
      value = ElementType.class,
      names = {"FLOAT16", "BFLOAT16", "FLOAT32", "FLOAT8_E4M3", "FLOAT8_E5M2"})
  void results_ofFiniteNumbers_areRoundedToNearestEven(ElementType type) {
    ReferenceElements elements = new ReferenceElements(type);
    Random random = new Random(type.ordinal());
    try (Arena arena = Arena.ofConfined()) {
      long lengthBytes = (long) COUNT * type.bytes();
      long left = arena.allocate(lengthBytes, 8).address();
      long right = arena.allocate(lengthBytes, 8).address();
      long target = arena.allocate(lengthBytes, 8).address();
      for (int i = 0; i < COUNT; i++) {
        elements.put(left + (long) i * type.bytes(), elements.of(random.nextGaussian()));
        elements.put(right + (long) i * type.bytes(), elements.of(random.nextGaussian()));
      }
      for (int operation = 0; operation <= ReduceOperation.MINIMUM; operation++) {
        Reduction.of(type).combine(operation, target, left, right, COUNT);
        for (int i = 0; i < COUNT; i++) {
          long offset = (long) i * type.bytes();
          long expected =
              elements.combine(
                  operation, elements.get(left + offset), elements.get(right + offset));
          assertThat(elements.number(elements.get(target + offset)))
              .isEqualTo(elements.number(expected));
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = ElementType.class,
      names = {"FLOAT16", "BFLOAT16", "FLOAT32", "FLOAT64", "FLOAT8_E4M3", "FLOAT8_E5M2"})
  void nans_areLeftOutOfExtremesAlone(ElementType type) {
    assertThat(combine(type, ReduceOperation.SUM, Double.NaN, 1)).isNaN();
    assertThat(combine(type, ReduceOperation.PRODUCT, 1, Double.NaN)).isNaN();
    assertThat(combine(type, ReduceOperation.MAXIMUM, Double.NaN, 1)).isEqualTo(1);
    assertThat(combine(type, ReduceOperation.MINIMUM, 1, Double.NaN)).isEqualTo(1);
    assertThat(combine(type, ReduceOperation.MAXIMUM, Double.NaN, Double.NaN)).isNaN();
  }

  @Test
  void numbers_thatAreTooLarge_becomeInfiniteOrTheLargest() {
    double infinity = Double.POSITIVE_INFINITY;
    assertThat(combine(ElementType.FLOAT16, ReduceOperation.SUM, 65_504, 65_504))
        .isEqualTo(infinity);
    assertThat(combine(ElementType.BFLOAT16, ReduceOperation.PRODUCT, 1e30, -1e30))
        .isEqualTo(-infinity);
    assertThat(combine(ElementType.FLOAT8_E4M3, ReduceOperation.SUM, 448, 448)).isEqualTo(448);
    assertThat(combine(ElementType.FLOAT8_E5M2, ReduceOperation.PRODUCT, 57_344, -2))
        .isEqualTo(-57_344);
  }

  private static double combine(ElementType type, int operation, double left, double right) {
    ReferenceElements elements = new ReferenceElements(type);
    try (Arena arena = Arena.ofConfined()) {
      long a = arena.allocate(8, 8).address();
      long b = arena.allocate(8, 8).address();
      elements.put(a, bits(elements, left));
      elements.put(b, bits(elements, right));
      Reduction.of(type).combine(operation, a, a, b, 1);
      return elements.number(elements.get(a));
    }
  }

  private static long bits(ReferenceElements elements, double number) {
    boolean isBrain = elements.type() == ElementType.BFLOAT16;
    return isBrain && Double.isNaN(number) ? 0x7fc0 : elements.of(number);
  }
}
