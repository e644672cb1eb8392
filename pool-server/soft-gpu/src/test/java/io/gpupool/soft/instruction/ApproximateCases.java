// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.instruction;

import io.gpupool.soft.ptx.Type;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.DoubleUnaryOperator;

/** Approximate functions, against the error that the PTX ISA allows them. */
final class ApproximateCases {
  private static final double TURN = 6.283186;

  private ApproximateCases() {}

  /** How far off a result may be, of the exact value. */
  private interface Tolerance {
    double of(double exact, double argument);
  }

  static List<Case> of(Sample sample) {
    Type type = sample.type();
    if (sample.opcode().equals("div")) {
      return List.of(division(sample));
    }
    return List.of(
        switch (sample.opcode()) {
          case "rcp" -> function(sample, type, x -> 1 / x, relative(type == Type.F64 ? 20 : 23));
          case "sqrt" -> function(sample, type, StrictMath::sqrt, relative(23));
          case "rsqrt" ->
              function(
                  sample,
                  type,
                  x -> 1 / StrictMath.sqrt(x),
                  relative(type == Type.F64 ? 20 : 22.9));
          case "sin" -> function(sample, type, StrictMath::sin, ApproximateCases::wave);
          case "cos" -> function(sample, type, StrictMath::cos, ApproximateCases::wave);
          case "lg2" ->
              function(
                  sample,
                  type,
                  x -> StrictMath.log(x) / StrictMath.log(2),
                  (exact, x) -> Math.max(x > 0.5 && x < 2 ? 1 : 0, Math.abs(exact)) * 0x1p-22);
          case "ex2" ->
              function(
                  sample,
                  type,
                  x -> StrictMath.pow(2, x),
                  relative(
                      type == Type.F32 ? 22 : ExactFloat.of(type) == ExactFloat.F16 ? 9.9 : 7));
          case "tanh" -> function(sample, type, StrictMath::tanh, tanh(type));
          default -> throw new IllegalStateException("no reference for " + sample.text());
        });
  }

  private static Tolerance relative(double bits) {
    return (exact, _) -> Math.abs(exact) * StrictMath.pow(2, -bits);
  }

  private static Tolerance tanh(Type type) {
    if (type == Type.F32) {
      return relative(11);
    }
    double absolute = StrictMath.pow(2, ExactFloat.of(type) == ExactFloat.F16 ? -10.987 : -8);
    return (_, _) -> absolute;
  }

  /** Beyond a turn nothing is said but that the result is one of a sine. */
  private static double wave(double exact, double argument) {
    return Math.abs(argument) <= TURN ? StrictMath.pow(2, -20.5) : 1 + Math.abs(exact);
  }

  private static Case function(
      Sample sample, Type type, DoubleUnaryOperator exact, Tolerance tolerance) {
    ExactFloat format = ExactFloat.of(type);
    int bits = format.bits();
    long mask = bits == 64 ? -1 : (1L << bits) - 1;
    // The double-precision forms look at the upper half of their argument alone.
    boolean upper = type == Type.F64 && sample.has("ftz");
    boolean flushes = sample.has("ftz");
    Case.Check check =
        (arguments, results) -> {
          for (int shift = 0; shift < type.bits(); shift += bits) {
            long argument = arguments[0] >>> shift & mask;
            if (upper && !format.isNan(argument)) {
              argument &= 0xFFFF_FFFF_0000_0000L;
            }
            double x = format.approximate(flushes ? format.flushed(argument) : argument);
            x = special(format, argument, x);
            double wanted = exact.applyAsDouble(x);
            String wrong =
                off(format, wanted, tolerance.of(wanted, x), results[0] >>> shift & mask, flushes);
            if (wrong != null) {
              return wrong;
            }
          }
          return null;
        };
    return new Case(
        sample.text(),
        IntegerCases.plain(sample, 1),
        List.of(type),
        List.of(type),
        arguments(type),
        Case.each(check));
  }

  private static double special(ExactFloat format, long bits, double finite) {
    if (format.isNan(bits)) {
      return Double.NaN;
    }
    if (format.isInfinite(bits)) {
      return format.isNegative(bits) ? Double.NEGATIVE_INFINITY : Double.POSITIVE_INFINITY;
    }
    return format.isZero(bits) || finite == 0 ? format.isNegative(bits) ? -0.0 : 0.0 : finite;
  }

  /** What is wrong with a result that may be off by so much, or null. */
  private static String off(
      ExactFloat format, double wanted, double tolerance, long result, boolean flushes) {
    double largest = format.approximate(format.infinity() - 1);
    double actual = special(format, result, format.isNan(result) ? 0 : format.approximate(result));
    boolean right;
    if (Double.isNaN(wanted)) {
      right = Double.isNaN(actual);
    } else if (Math.abs(wanted) >= largest) {
      right = Math.abs(actual) >= largest && Math.signum(actual) == Math.signum(wanted);
    } else if (flushes && actual == 0) {
      right = format.isZero(format.flushed(format.round(exactly(wanted), "rz", false)));
    } else {
      // A unit of the last place of the least numbers is never too much.
      double least = format.approximate(1);
      right = Math.abs(actual - wanted) <= tolerance + least;
    }
    return right ? null : wanted + " within " + tolerance;
  }

  /** A double as an exact number. */
  static ExactFloat.Exact exactly(double value) {
    return ExactFloat.F64.exact(Double.doubleToRawLongBits(value));
  }

  private static List<long[]> arguments(Type type) {
    List<Long> values = new ArrayList<>(Edges.of(type));
    Random random = new Random(7);
    for (int i = 0; i < 500; i++) {
      switch (type) {
        case F32 -> {
          values.add(
              Float.floatToRawIntBits((float) ((random.nextDouble() - 0.5) * 13)) & ~0L >>> 32);
          values.add(random.nextInt() & 0xFFFF_FFFFL);
        }
        case F64 -> values.add(random.nextLong());
        default -> values.add(random.nextLong() & Case.mask(type));
      }
    }
    return Edges.tuples("approximate " + type, List.of(values));
  }

  private static Case division(Sample sample) {
    ExactFloat f = ExactFloat.F32;
    boolean flushes = sample.has("ftz");
    List<Type> types = List.of(Type.F32, Type.F32);
    Case.Check check =
        (arguments, results) -> {
          long a = flushes ? f.flushed(arguments[0]) : arguments[0];
          long b = flushes ? f.flushed(arguments[1]) : arguments[1];
          double y = Math.abs(f.isNan(b) ? Double.NaN : special(f, b, f.approximate(b)));
          if (sample.has("approx") && y > 0x1p126 && y < Double.POSITIVE_INFINITY && !f.isNan(a)) {
            boolean right = f.isInfinite(a) ? f.isNan(results[0]) : f.isZero(results[0]);
            return right ? null : "0, or NaN of an infinity";
          }
          long exact = f.divide(a, b, "rn");
          if (exact == ExactFloat.NAN || f.isInfinite(exact)) {
            return Case.same(Type.F32, exact, results[0]) ? null : Long.toHexString(exact);
          }
          boolean near = Math.abs(f.order(exact) - f.order(results[0])) <= 2;
          boolean flushed = flushes && results[0] == f.flushed(exact);
          return near || flushed ? null : Long.toHexString(exact) + " within 2";
        };
    return new Case(
        sample.text(),
        IntegerCases.plain(sample, 2),
        List.of(Type.F32),
        types,
        Edges.tuples(types),
        Case.each(check));
  }
}
