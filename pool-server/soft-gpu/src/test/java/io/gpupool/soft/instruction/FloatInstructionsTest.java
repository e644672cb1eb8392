// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.instruction;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.ptx.Type;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.MathContext;
import java.math.RoundingMode;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** Floating instructions over edge values in every rounding mode, against exact numbers. */
class FloatInstructionsTest {
  /** Stands for any NaN, whose bits differ from device to device. */
  private static final long NAN = Long.MIN_VALUE + 12345;

  private static final List<String> MODES = List.of("rn", "rz", "rm", "rp");

  /** Far beyond what decides the rounding of a quotient or root of edge values. */
  private static final MathContext LONG = new MathContext(1200);

  /** What an instruction gives for bits. */
  private interface Reference {
    long of(long[] bits);
  }

  private final List<DynamicTest> tests = new ArrayList<>();

  private void test(String instruction, Type result, List<Type> args, Reference reference) {
    tests.add(
        DynamicTest.dynamicTest(instruction, () -> check(instruction, result, args, reference)));
  }

  private static void check(String instruction, Type result, List<Type> args, Reference reference)
      throws Exception {
    List<long[]> tuples = Edges.tuples(args.stream().map(Edges::of).toList());
    long[] actual = InstructionRun.of(instruction, result, args, tuples, "");
    for (int i = 0; i < actual.length; i++) {
      long expected = reference.of(tuples.get(i));
      boolean same = expected == NAN ? format(result).isNan(actual[i]) : actual[i] == expected;
      if (!same) {
        StringBuilder what = new StringBuilder(instruction);
        for (long bits : tuples.get(i)) {
          what.append(' ').append(Long.toHexString(bits));
        }
        assertThat(Long.toHexString(actual[i]))
            .as("%s", what)
            .isEqualTo(Long.toHexString(expected));
      }
    }
  }

  private static ExactFloat format(Type type) {
    return switch (type) {
      case F16 -> ExactFloat.F16;
      case BF16 -> ExactFloat.BF16;
      case F32 -> ExactFloat.F32;
      default -> ExactFloat.F64;
    };
  }

  private static long add(ExactFloat f, long a, long b, String mode) {
    if (f.isNan(a) || f.isNan(b)) {
      return NAN;
    }
    if (f.isInfinite(a) || f.isInfinite(b)) {
      boolean opposed = f.isInfinite(a) && f.isInfinite(b) && a != b;
      return opposed ? NAN : f.isInfinite(a) ? a : b;
    }
    boolean bothNegative = f.isNegative(a) && f.isNegative(b);
    boolean sameSign = f.isNegative(a) == f.isNegative(b);
    return f.round(
        f.exact(a).add(f.exact(b)), mode, bothNegative || !sameSign && mode.equals("rm"));
  }

  private static long multiply(ExactFloat f, long a, long b, String mode) {
    boolean negative = f.isNegative(a) != f.isNegative(b);
    if (f.isNan(a) || f.isNan(b)) {
      return NAN;
    }
    if (f.isInfinite(a) || f.isInfinite(b)) {
      return f.isZero(a) || f.isZero(b) ? NAN : f.infinity() | (negative ? f.signBit() : 0);
    }
    return f.round(f.exact(a).multiply(f.exact(b)), mode, negative);
  }

  private static long fma(ExactFloat f, long a, long b, long c, String mode) {
    if (f.isNan(a) || f.isNan(b) || f.isNan(c)) {
      return NAN;
    }
    boolean negative = f.isNegative(a) != f.isNegative(b);
    if (f.isInfinite(a) || f.isInfinite(b)) {
      long product = multiply(f, a, b, mode);
      return product == NAN || f.isInfinite(c) && c != product ? NAN : product;
    }
    if (f.isInfinite(c)) {
      return c;
    }
    BigDecimal product = f.exact(a).multiply(f.exact(b));
    boolean bothNegative = negative && f.isNegative(c);
    boolean sameSign = negative == f.isNegative(c);
    return f.round(product.add(f.exact(c)), mode, bothNegative || !sameSign && mode.equals("rm"));
  }

  private static long divide(ExactFloat f, long a, long b, String mode) {
    boolean negative = f.isNegative(a) != f.isNegative(b);
    long sign = negative ? f.signBit() : 0;
    if (f.isNan(a) || f.isNan(b)) {
      return NAN;
    }
    if (f.isInfinite(a) || f.isZero(b)) {
      boolean undefined = f.isInfinite(a) && f.isInfinite(b) || f.isZero(a) && f.isZero(b);
      return undefined ? NAN : f.infinity() | sign;
    }
    if (f.isInfinite(b)) {
      return sign;
    }
    return f.round(f.exact(a).divide(f.exact(b), LONG), mode, negative);
  }

  private static long root(ExactFloat f, long a, String mode) {
    if (f.isNan(a) || f.isNegative(a) && !f.isZero(a)) {
      return NAN;
    }
    return f.isZero(a) || f.isInfinite(a) ? a : f.round(f.exact(a).sqrt(LONG), mode, false);
  }

  private static long extreme(ExactFloat f, long a, long b, boolean min, boolean nan) {
    if (f.isNan(a) || f.isNan(b)) {
      boolean both = f.isNan(a) && f.isNan(b);
      return nan || both ? NAN : f.isNan(a) ? b : a;
    }
    boolean less;
    if (f.isInfinite(a) || f.isInfinite(b) || f.isZero(a) && f.isZero(b)) {
      less = order(f, a) < order(f, b);
    } else {
      less = f.exact(a).compareTo(f.exact(b)) < 0;
    }
    return less == min ? a : b;
  }

  /** Bits as numbers that lie in the order of what they stand for. */
  private static long order(ExactFloat f, long bits) {
    return f.isNegative(bits) ? -(bits & f.signBit() - 1) - 1 : bits;
  }

  private static long[] flushed(ExactFloat f, long[] bits) {
    long[] result = bits.clone();
    for (int i = 0; i < result.length; i++) {
      result[i] = f.flushed(result[i]);
    }
    return result;
  }

  private static long flushed(ExactFloat f, long bits) {
    return bits == NAN ? NAN : f.flushed(bits);
  }

  private static long saturated(ExactFloat f, long bits) {
    if (bits == NAN || f.isNegative(bits)) {
      return 0;
    }
    long one = f.round(BigDecimal.ONE, "rn", false);
    return bits > one ? one : bits;
  }

  @TestFactory
  Stream<DynamicTest> arithmetic_everyRounding_isExact() {
    for (Type type : List.of(Type.F32, Type.F64)) {
      ExactFloat f = format(type);
      String t = "." + type.ptxName();
      List<Type> two = List.of(type, type);
      for (String mode : MODES) {
        String m = "." + mode;
        test("add" + m + t, type, two, a -> add(f, a[0], a[1], mode));
        test("sub" + m + t, type, two, a -> add(f, a[0], a[1] ^ f.signBit(), mode));
        test("mul" + m + t, type, two, a -> multiply(f, a[0], a[1], mode));
        test("div" + m + t, type, two, a -> divide(f, a[0], a[1], mode));
        test("fma" + m + t, type, List.of(type, type, type), a -> fma(f, a[0], a[1], a[2], mode));
        test("sqrt" + m + t, type, List.of(type), a -> root(f, a[0], mode));
        long one = f.round(BigDecimal.ONE, "rn", false);
        test("rcp" + m + t, type, List.of(type), a -> divide(f, one, a[0], mode));
      }
    }
    return tests.stream();
  }

  @TestFactory
  Stream<DynamicTest> single_flushedAndSaturated_isExact() {
    ExactFloat f = ExactFloat.F32;
    List<Type> two = List.of(Type.F32, Type.F32);
    for (String mode : MODES) {
      String m = "." + mode;
      test(
          "add" + m + ".ftz.f32",
          Type.F32,
          two,
          a -> flushed(f, add(f, f.flushed(a[0]), f.flushed(a[1]), mode)));
      test(
          "mul" + m + ".ftz.f32",
          Type.F32,
          two,
          a -> flushed(f, multiply(f, f.flushed(a[0]), f.flushed(a[1]), mode)));
      test("add" + m + ".sat.f32", Type.F32, two, a -> saturated(f, add(f, a[0], a[1], mode)));
      test("mul" + m + ".sat.f32", Type.F32, two, a -> saturated(f, multiply(f, a[0], a[1], mode)));
      test(
          "fma" + m + ".ftz.sat.f32",
          Type.F32,
          List.of(Type.F32, Type.F32, Type.F32),
          a -> {
            long[] in = flushed(f, a);
            return saturated(f, flushed(f, fma(f, in[0], in[1], in[2], mode)));
          });
    }
    return tests.stream();
  }

  @TestFactory
  Stream<DynamicTest> halves_edgeValues_roundOnce() {
    for (Type type : List.of(Type.F16, Type.BF16)) {
      ExactFloat f = format(type);
      String t = "." + type.ptxName();
      List<Type> two = List.of(type, type);
      List<Type> three = List.of(type, type, type);
      test("add.rn" + t, type, two, a -> add(f, a[0], a[1], "rn"));
      test("sub.rn" + t, type, two, a -> add(f, a[0], a[1] ^ f.signBit(), "rn"));
      test("mul.rn" + t, type, two, a -> multiply(f, a[0], a[1], "rn"));
      test("fma.rn" + t, type, three, a -> fma(f, a[0], a[1], a[2], "rn"));
      test("min" + t, type, two, a -> extreme(f, a[0], a[1], true, false));
      test("max" + t, type, two, a -> extreme(f, a[0], a[1], false, false));
      test("min.NaN" + t, type, two, a -> extreme(f, a[0], a[1], true, true));
      test("max.NaN" + t, type, two, a -> extreme(f, a[0], a[1], false, true));
    }
    ExactFloat f = ExactFloat.F16;
    List<Type> two = List.of(Type.F16, Type.F16);
    test("add.rn.sat.f16", Type.F16, two, a -> saturated(f, add(f, a[0], a[1], "rn")));
    test(
        "mul.rn.ftz.f16",
        Type.F16,
        two,
        a -> flushed(f, multiply(f, f.flushed(a[0]), f.flushed(a[1]), "rn")));
    return tests.stream();
  }

  @TestFactory
  Stream<DynamicTest> extremesAndSigns_edgeValues_areExact() {
    for (Type type : List.of(Type.F32, Type.F64)) {
      ExactFloat f = format(type);
      String t = "." + type.ptxName();
      List<Type> two = List.of(type, type);
      test("min" + t, type, two, a -> extreme(f, a[0], a[1], true, false));
      test("max" + t, type, two, a -> extreme(f, a[0], a[1], false, false));
      test("copysign" + t, type, two, a -> a[1] & f.signBit() - 1 | a[0] & f.signBit());
      test(
          "testp.finite" + t,
          Type.PRED,
          List.of(type),
          a -> test(!f.isNan(a[0]) && !f.isInfinite(a[0])));
      test("testp.infinite" + t, Type.PRED, List.of(type), a -> test(f.isInfinite(a[0])));
      test("testp.number" + t, Type.PRED, List.of(type), a -> test(!f.isNan(a[0])));
      test("testp.notanumber" + t, Type.PRED, List.of(type), a -> test(f.isNan(a[0])));
      test(
          "testp.normal" + t,
          Type.PRED,
          List.of(type),
          a -> test(!f.isNan(a[0]) && !f.isInfinite(a[0]) && !f.isZero(f.flushed(a[0]))));
      test(
          "testp.subnormal" + t,
          Type.PRED,
          List.of(type),
          a -> test(!f.isZero(a[0]) && f.isZero(f.flushed(a[0]))));
    }
    ExactFloat f = ExactFloat.F32;
    List<Type> two = List.of(Type.F32, Type.F32);
    test("min.NaN.f32", Type.F32, two, a -> extreme(f, a[0], a[1], true, true));
    test("max.NaN.f32", Type.F32, two, a -> extreme(f, a[0], a[1], false, true));
    test(
        "max.xorsign.abs.f32",
        Type.F32,
        two,
        a -> {
          long magnitude = extreme(f, a[0] & f.signBit() - 1, a[1] & f.signBit() - 1, false, false);
          return magnitude == NAN ? NAN : magnitude | (a[0] ^ a[1]) & f.signBit();
        });
    return tests.stream();
  }

  private static long test(boolean holds) {
    return holds ? 1 : 0;
  }

  @TestFactory
  Stream<DynamicTest> comparisons_withNans_areExact() {
    for (Type type : List.of(Type.F32, Type.F64, Type.F16)) {
      ExactFloat f = format(type);
      for (String comparison :
          List.of(
              "eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num",
              "nan")) {
        test(
            "setp." + comparison + "." + type.ptxName(),
            Type.PRED,
            List.of(type, type),
            a -> test(holds(f, comparison, a[0], a[1])));
      }
    }
    return tests.stream();
  }

  private static boolean holds(ExactFloat f, String comparison, long a, long b) {
    boolean unordered = f.isNan(a) || f.isNan(b);
    if (comparison.equals("num") || comparison.equals("nan")) {
      return unordered == comparison.equals("nan");
    }
    if (unordered) {
      return comparison.length() == 3;
    }
    boolean bothZero = f.isZero(a) && f.isZero(b);
    int difference = bothZero ? 0 : Long.compare(order(f, a), order(f, b));
    return switch (comparison.substring(0, 2)) {
      case "eq" -> difference == 0;
      case "ne" -> difference != 0;
      case "lt" -> difference < 0;
      case "le" -> difference <= 0;
      case "gt" -> difference > 0;
      default -> difference >= 0;
    };
  }

  @TestFactory
  Stream<DynamicTest> conversions_toNarrowerFormats_roundOnce() {
    for (Type from : List.of(Type.F32, Type.F64)) {
      for (Type to : List.of(Type.F16, Type.F32)) {
        if (from != to) {
          for (String mode : MODES) {
            String name = "cvt." + mode + "." + to.ptxName() + "." + from.ptxName();
            test(name, to, List.of(from), a -> converted(format(from), format(to), a[0], mode));
          }
        }
      }
    }
    for (String mode : List.of("rn", "rz")) {
      test(
          "cvt." + mode + ".bf16.f32",
          Type.BF16,
          List.of(Type.F32),
          a -> converted(ExactFloat.F32, ExactFloat.BF16, a[0], mode));
    }
    for (Type from : List.of(Type.F16, Type.F32)) {
      test(
          "cvt.f64." + from.ptxName(),
          Type.F64,
          List.of(from),
          a -> converted(format(from), ExactFloat.F64, a[0], "rn"));
    }
    test(
        "cvt.f32.f16",
        Type.F32,
        List.of(Type.F16),
        a -> converted(ExactFloat.F16, ExactFloat.F32, a[0], "rn"));
    return tests.stream();
  }

  private static long converted(ExactFloat from, ExactFloat to, long bits, String mode) {
    if (from.isNan(bits)) {
      return NAN;
    }
    if (from.isInfinite(bits)) {
      return to.infinity() | (from.isNegative(bits) ? to.signBit() : 0);
    }
    return to.round(from.exact(bits), mode, from.isNegative(bits));
  }

  @TestFactory
  Stream<DynamicTest> conversions_fromIntegers_roundOnce() {
    for (Type from : List.of(Type.U16, Type.S16, Type.U32, Type.S32, Type.U64, Type.S64)) {
      for (Type to : List.of(Type.F16, Type.F32, Type.F64)) {
        for (String mode : MODES) {
          String name = "cvt." + mode + "." + to.ptxName() + "." + from.ptxName();
          test(
              name,
              to,
              List.of(from),
              a -> format(to).round(new BigDecimal(integer(a[0], from)), mode, false));
        }
      }
    }
    return tests.stream();
  }

  private static BigInteger integer(long bits, Type type) {
    int unused = 64 - type.bits();
    return type.isSigned()
        ? BigInteger.valueOf(bits << unused >> unused)
        : new BigInteger(Long.toUnsignedString(bits << unused >>> unused));
  }

  @TestFactory
  Stream<DynamicTest> conversions_toIntegers_clamp() {
    for (Type from : List.of(Type.F16, Type.F32, Type.F64)) {
      for (Type to : List.of(Type.U16, Type.S16, Type.U32, Type.S32, Type.U64, Type.S64)) {
        for (String mode : List.of("rni", "rzi", "rmi", "rpi")) {
          ExactFloat f = format(from);
          String name = "cvt." + mode + "." + to.ptxName() + "." + from.ptxName();
          tests.add(
              DynamicTest.dynamicTest(
                  name,
                  () -> {
                    List<long[]> tuples = Edges.tuples(List.of(Edges.of(from)));
                    // What a NaN becomes is the device's own affair.
                    tuples.removeIf(tuple -> f.isNan(tuple[0]));
                    long[] actual = InstructionRun.of(name, to, List.of(from), tuples, "");
                    for (int i = 0; i < actual.length; i++) {
                      assertThat(actual[i])
                          .as("%s %x", name, tuples.get(i)[0])
                          .isEqualTo(integral(f, tuples.get(i)[0], to, mode));
                    }
                  }));
        }
      }
    }
    return tests.stream();
  }

  private static long integral(ExactFloat f, long bits, Type to, String mode) {
    BigInteger max =
        BigInteger.ONE
            .shiftLeft(to.isSigned() ? to.bits() - 1 : to.bits())
            .subtract(BigInteger.ONE);
    BigInteger min = to.isSigned() ? max.negate().subtract(BigInteger.ONE) : BigInteger.ZERO;
    BigInteger value;
    if (f.isInfinite(bits)) {
      value = f.isNegative(bits) ? min : max;
    } else {
      RoundingMode rounding =
          switch (mode) {
            case "rni" -> RoundingMode.HALF_EVEN;
            case "rzi" -> RoundingMode.DOWN;
            case "rmi" -> RoundingMode.FLOOR;
            default -> RoundingMode.CEILING;
          };
      value = f.exact(bits).setScale(0, rounding).toBigInteger().max(min).min(max);
    }
    return to.bits() == 64 ? value.longValue() : value.longValue() & (1L << to.bits()) - 1;
  }
}
