// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.fuzz;

import io.gpupool.soft.ptx.Statement.Instruction;
import io.gpupool.soft.ptx.Type;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.RoundingMode;

/** {@code cvt}, by way of exact numbers. Kernels must not convert a NaN to an integer. */
final class Convert {
  private Convert() {}

  /** The result's bits; a narrow integer is extended to the width of its register. */
  static long convert(Instruction instruction, Type to, Type from, long bits) {
    boolean flush = instruction.has("ftz");
    if (from.isFloat()) {
      boolean single = from == Type.F32 && flush;
      long in = single ? Real.format(from).flushed(bits) : bits;
      return to.isFloat() ? floats(instruction, to, from, in) : toWhole(instruction, to, from, in);
    }
    BigInteger number = Whole.number(from, bits);
    if (to.isFloat()) {
      String mode = Real.rounding(instruction);
      return Real.round(to, new BigDecimal(number), mode, false);
    }
    long whole = instruction.has("sat") ? Whole.clamped(to, number) : Whole.bits(to.bits(), number);
    return extended(to, whole);
  }

  static long extended(Type type, long bits) {
    return Whole.number(type, bits).longValue();
  }

  private static RoundingMode integral(Instruction instruction) {
    if (instruction.has("rni")) {
      return RoundingMode.HALF_EVEN;
    }
    if (instruction.has("rmi")) {
      return RoundingMode.FLOOR;
    }
    return instruction.has("rpi") ? RoundingMode.CEILING : RoundingMode.DOWN;
  }

  private static long toWhole(Instruction instruction, Type to, Type from, long bits) {
    double value = Real.toDouble(from, bits);
    if (Double.isNaN(value)) {
      throw new IllegalStateException("a kernel converts a NaN to an integer");
    }
    if (Double.isInfinite(value)) {
      BigInteger beyond = BigInteger.ONE.shiftLeft(100);
      return extended(to, Whole.clamped(to, value < 0 ? beyond.negate() : beyond));
    }
    BigDecimal rounded = new BigDecimal(value).setScale(0, integral(instruction));
    return extended(to, Whole.clamped(to, rounded.toBigInteger()));
  }

  private static long floats(Instruction instruction, Type to, Type from, long bits) {
    double value = Real.toDouble(from, bits);
    boolean integral =
        instruction.has("rni")
            || instruction.has("rzi")
            || instruction.has("rmi")
            || instruction.has("rpi");
    long result;
    if (!Double.isFinite(value) || value == 0) {
      result = Real.special(to, value);
    } else {
      BigDecimal exact = new BigDecimal(value);
      if (integral) {
        exact = exact.setScale(0, integral(instruction));
      }
      result = Real.round(to, exact, Real.rounding(instruction), value < 0);
    }
    if (instruction.has("sat")) {
      double got = Real.toDouble(to, result);
      result = Double.isNaN(got) || got <= 0 ? 0 : got > 1 ? one(to) : result;
    }
    if (instruction.has("relu") && Real.toDouble(to, result) <= 0) {
      result = 0;
    }
    return instruction.has("ftz") && to == Type.F32 ? Real.format(to).flushed(result) : result;
  }

  private static long one(Type type) {
    return Real.round(type, BigDecimal.ONE, "rn", false);
  }
}
