// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.fuzz;

import io.gpupool.soft.ptx.Statement.Instruction;
import io.gpupool.soft.ptx.Type;
import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;

/**
 * Floating instructions. What is special (zeros, infinities, NaNs) follows Java's own arithmetic in
 * double; what is finite is worked out exactly and rounded once. A NaN has any bits: kernels must
 * not look at them.
 */
final class Real {
  /** Every double has fewer digits, so that a quotient that is one is exact. */
  private static final MathContext DIGITS = new MathContext(800, RoundingMode.DOWN);

  private Real() {}

  static Format format(Type type) {
    return switch (type) {
      case F16, F16X2 -> Format.F16;
      case BF16, BF16X2 -> Format.BF16;
      case F32 -> Format.F32;
      case F64 -> Format.F64;
      default -> throw new IllegalStateException("not a floating type: " + type);
    };
  }

  /** A value of any of the formats, all of which a double can hold. */
  static double toDouble(Type type, long bits) {
    return switch (type) {
      case F64 -> Double.longBitsToDouble(bits);
      case F32 -> Float.intBitsToFloat((int) bits);
      case BF16 -> Float.intBitsToFloat((int) bits << 16);
      default -> half(bits);
    };
  }

  private static double half(long bits) {
    int exponent = (int) (bits >> 10 & 31);
    double fraction = bits & 0x3FF;
    double value =
        exponent == 0
            ? fraction * 0x1p-24
            : exponent < 31
                ? Math.scalb(fraction + 1024, exponent - 25)
                : fraction == 0 ? Double.POSITIVE_INFINITY : Double.NaN;
    return (bits & 0x8000) == 0 ? value : -value;
  }

  static long quietNan(Type type) {
    return switch (type) {
      case F64 -> 0x7FF8_0000_0000_0000L;
      case F32 -> 0x7FC0_0000L;
      case BF16 -> 0x7FFF;
      default -> 0x7FFF;
    };
  }

  /** Rounds an exact number. */
  static long round(Type type, BigDecimal exact, String mode, boolean negativeZero) {
    if (exact.signum() != 0 && mode.equals("rn")) {
      if (type == Type.F32) {
        return Float.floatToRawIntBits(exact.floatValue()) & 0xFFFF_FFFFL;
      }
      if (type == Type.F64) {
        return Double.doubleToRawLongBits(exact.doubleValue());
      }
    }
    return format(type).round(exact, mode, negativeZero);
  }

  /** Bits of a double that is not finite, or of a zero. */
  static long special(Type type, double value) {
    if (Double.isNaN(value)) {
      return quietNan(type);
    }
    Format format = format(type);
    boolean negative = Double.doubleToRawLongBits(value) < 0;
    return (value == 0 ? 0 : format.infinity()) | (negative ? format.signBit() : 0);
  }

  static String rounding(Instruction instruction) {
    for (String mode : new String[] {"rz", "rm", "rp"}) {
      if (instruction.has(mode)) {
        return mode;
      }
    }
    return "rn";
  }

  /** Packed types are computed by halves. */
  static long compute(Instruction instruction, Type type, long[] args) {
    if (type == Type.F16X2 || type == Type.BF16X2) {
      Type half = type == Type.F16X2 ? Type.F16 : Type.BF16;
      long[] low = args.clone();
      long[] high = args.clone();
      for (int i = 0; i < args.length; i++) {
        low[i] = args[i] & 0xFFFF;
        high[i] = args[i] >>> 16 & 0xFFFF;
      }
      return compute(instruction, half, high) << 16 | compute(instruction, half, low);
    }
    Format format = format(type);
    boolean flush = instruction.has("ftz");
    long[] in = args.clone();
    for (int i = 0; i < in.length; i++) {
      in[i] = flush ? format.flushed(in[i]) : in[i];
    }
    long result = arithmetic(instruction, type, in);
    if (instruction.has("sat")) {
      double value = toDouble(type, result);
      if (Double.isNaN(value) || value <= 0) {
        result = 0;
      } else if (value > 1) {
        result = round(type, BigDecimal.ONE, "rn", false);
      }
    }
    if (instruction.has("relu") && toDouble(type, result) <= 0) {
      result = 0;
    }
    return flush ? format.flushed(result) : result;
  }

  private static long arithmetic(Instruction instruction, Type type, long[] bits) {
    Format format = format(type);
    double[] x = new double[bits.length];
    boolean finite = true;
    for (int i = 0; i < bits.length; i++) {
      x[i] = toDouble(type, bits[i]);
      finite &= Double.isFinite(x[i]);
    }
    switch (instruction.opcode()) {
      case "neg":
        return bits[0] ^ format.signBit();
      case "abs":
        return bits[0] & ~format.signBit();
      case "copysign":
        return bits[1] & ~format.signBit() | bits[0] & format.signBit();
      case "min", "max":
        return extreme(instruction, type, x, bits);
      default:
        break;
    }
    double special =
        switch (instruction.opcode()) {
          case "add" -> x[0] + x[1];
          case "sub" -> x[0] - x[1];
          case "mul" -> x[0] * x[1];
          case "div" -> x[0] / x[1];
          case "rcp" -> 1 / x[0];
          case "sqrt" -> Math.sqrt(x[0]);
          // No sum of finite terms is an infinity here, and a product of large ones is none.
          default -> finite ? 0 : fusedSpecial(x);
        };
    boolean divisionByZero =
        instruction.opcode().equals("div") && x[1] == 0
            || instruction.opcode().equals("rcp") && x[0] == 0;
    if (!finite || Double.isNaN(special) || divisionByZero) {
      return special(type, special);
    }
    String mode = rounding(instruction);
    if (mode.equals("rn") && type == Type.F32) {
      return Float.floatToRawIntBits(nearest(instruction, floats(x))) & 0xFFFF_FFFFL;
    }
    if (mode.equals("rn") && type == Type.F64) {
      return Double.doubleToRawLongBits(nearest(instruction, x));
    }
    BigDecimal a = new BigDecimal(x[0]);
    BigDecimal b = x.length > 1 ? new BigDecimal(x[1]) : BigDecimal.ONE;
    BigDecimal exact =
        switch (instruction.opcode()) {
          case "add" -> a.add(b);
          case "sub" -> a.subtract(b);
          case "mul" -> a.multiply(b);
          case "div" -> quotient(a, b);
          case "rcp" -> quotient(BigDecimal.ONE, a);
          case "sqrt" -> a.sqrt(DIGITS);
          case "fma", "mad" -> a.multiply(b).add(new BigDecimal(x[2]));
          default -> throw new IllegalStateException("no reference for " + instruction.text());
        };
    return round(type, exact, mode, negativeZero(instruction.opcode(), x, mode));
  }

  private static float[] floats(double[] x) {
    float[] floats = new float[x.length];
    for (int i = 0; i < x.length; i++) {
      floats[i] = (float) x[i];
    }
    return floats;
  }

  /** Java's operators round to the nearest as IEEE 754 says. */
  private static float nearest(Instruction instruction, float[] x) {
    return switch (instruction.opcode()) {
      case "add" -> x[0] + x[1];
      case "sub" -> x[0] - x[1];
      case "mul" -> x[0] * x[1];
      case "div" -> x[0] / x[1];
      case "rcp" -> 1 / x[0];
      case "sqrt" -> (float) Math.sqrt(x[0]);
      case "fma", "mad" -> Math.fma(x[0], x[1], x[2]);
      default -> throw new IllegalStateException("no reference for " + instruction.text());
    };
  }

  private static double nearest(Instruction instruction, double[] x) {
    return switch (instruction.opcode()) {
      case "add" -> x[0] + x[1];
      case "sub" -> x[0] - x[1];
      case "mul" -> x[0] * x[1];
      case "div" -> x[0] / x[1];
      case "rcp" -> 1 / x[0];
      case "sqrt" -> Math.sqrt(x[0]);
      case "fma", "mad" -> Math.fma(x[0], x[1], x[2]);
      default -> throw new IllegalStateException("no reference for " + instruction.text());
    };
  }

  private static BigDecimal quotient(BigDecimal a, BigDecimal b) {
    return a.divide(b, DIGITS);
  }

  /** The sign of a result that is exactly zero. */
  private static boolean negativeZero(String opcode, double[] x, String mode) {
    return switch (opcode) {
      case "add" -> zeroSum(isNegative(x[0]), isNegative(x[1]), mode);
      case "sub" -> zeroSum(isNegative(x[0]), !isNegative(x[1]), mode);
      case "mul", "div" -> isNegative(x[0]) != isNegative(x[1]);
      case "rcp", "sqrt" -> isNegative(x[0]);
      default -> zeroSum(isNegative(x[0]) != isNegative(x[1]), isNegative(x[2]), mode);
    };
  }

  private static boolean zeroSum(boolean first, boolean second, String mode) {
    return first == second ? first : mode.equals("rm");
  }

  private static boolean isNegative(double value) {
    return Double.doubleToRawLongBits(value) < 0;
  }

  /** A fused sum some term of which is not finite. */
  private static double fusedSpecial(double[] x) {
    boolean product = Double.isFinite(x[0]) && Double.isFinite(x[1]);
    return (product ? 0 : x[0] * x[1]) + x[2];
  }

  private static long extreme(Instruction instruction, Type type, double[] x, long[] bits) {
    boolean least = instruction.opcode().equals("min");
    if (Double.isNaN(x[0]) || Double.isNaN(x[1])) {
      boolean nan = instruction.has("NaN") || Double.isNaN(x[0]) && Double.isNaN(x[1]);
      return nan ? quietNan(type) : Double.isNaN(x[0]) ? bits[1] : bits[0];
    }
    // Java, too, has -0 below +0.
    return Double.compare(x[0], x[1]) < 0 == least ? bits[0] : bits[1];
  }

  /** Comparison of {@code setp} and {@code set}. */
  static boolean compare(String comparison, double a, double b) {
    boolean nan = Double.isNaN(a) || Double.isNaN(b);
    return switch (comparison) {
      case "num" -> !nan;
      case "nan" -> nan;
      case "eq" -> a == b;
      case "ne" -> !nan && a != b;
      case "lt" -> a < b;
      case "le" -> a <= b;
      case "gt" -> a > b;
      case "ge" -> a >= b;
      case "equ" -> nan || a == b;
      case "neu" -> nan || a != b;
      case "ltu" -> nan || a < b;
      case "leu" -> nan || a <= b;
      case "gtu" -> nan || a > b;
      case "geu" -> nan || a >= b;
      default -> throw new IllegalStateException("no comparison " + comparison);
    };
  }

  static boolean test(String property, Type type, long bits) {
    double value = toDouble(type, bits);
    double least = type == Type.F32 ? Float.MIN_NORMAL : Double.MIN_NORMAL;
    boolean normal = Double.isFinite(value) && Math.abs(value) >= least;
    return switch (property) {
      case "finite" -> Double.isFinite(value);
      case "infinite" -> Double.isInfinite(value);
      case "number" -> !Double.isNaN(value);
      case "notanumber" -> Double.isNaN(value);
      case "normal" -> normal;
      case "subnormal" -> Double.isFinite(value) && !normal && value != 0;
      default -> throw new IllegalStateException("no property " + property);
    };
  }
}
