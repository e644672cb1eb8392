// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.instruction;

import io.gpupool.soft.instruction.ExactFloat.Exact;
import io.gpupool.soft.ptx.Type;
import java.math.BigInteger;
import java.util.List;

/** Conversions between all types, with every rounding, against exact numbers. */
final class ConvertCases {
  private static final List<String> INTEGRAL = List.of("rni", "rzi", "rmi", "rpi");

  private ConvertCases() {}

  static List<Case> of(Sample sample) {
    if (sample.has("pack")) {
      return List.of(pack(sample));
    }
    Type to = sample.types().get(0);
    Type from = sample.types().get(1);
    if (to == Type.F16X2 && from.bits() == 16 || to == Type.E4M3X2 || to == Type.E5M2X2) {
      return List.of(small(sample, to, from));
    }
    if (to == Type.F16X2 || to == Type.BF16X2) {
      return List.of(pair(sample, to));
    }
    Case.Single reference =
        a -> {
          if (!to.isFloat()) {
            return from.isFloat()
                ? toInteger(sample, a[0], to, from)
                : integers(sample, a[0], to, from);
          }
          return from.isFloat()
              ? floats(sample, a[0], to, from)
              : fromInteger(sample, IntegerCases.number(a[0], from), to);
        };
    // A result of 8 bits is extended to its register as its type says.
    Type kept = to == Type.U8 ? Type.U16 : to == Type.S8 ? Type.S16 : to;
    Type register = to == Type.TF32 ? Type.B32 : kept;
    return List.of(
        new Case(
            sample.text(),
            IntegerCases.plain(sample, 1),
            List.of(register),
            List.of(from),
            Edges.tuples(List.of(from)),
            Case.each((arguments, results) -> {
              long expected = reference.of(arguments);
              Type type = expected != ExactFloat.NAN ? kept : to == Type.TF32 ? Type.F32 : to;
              return Case.same(type, expected, results[0]) ? null : Long.toHexString(expected);
            })));
  }

  private static long integers(Sample sample, long bits, Type to, Type from) {
    BigInteger value = IntegerCases.number(bits, from);
    if (sample.has("sat")) {
      value = IntegerCases.clamp(value, to.bits(), to.isSigned());
    }
    return IntegerCases.number(value.longValue(), to).longValue();
  }

  private static long fromInteger(Sample sample, BigInteger value, Type to) {
    ExactFloat f = ExactFloat.of(to);
    long bits = f.round(Exact.of(value), sample.rounding(), false);
    return sample.has("sat") ? f.saturated(bits) : bits;
  }

  /** Clamped to the type; what a NaN becomes is said in the PTX ISA, under cvt. */
  private static long toInteger(Sample sample, long argument, Type to, Type from) {
    ExactFloat f = ExactFloat.of(from);
    long bits = sample.has("ftz") ? f.flushed(argument) : argument;
    if (f.isNan(bits)) {
      boolean zero = from != Type.F64 && to.bits() != 64;
      return zero ? 0 : IntegerCases.number(1L << to.bits() - 1, to).longValue();
    }
    BigInteger value =
        f.isInfinite(bits)
            ? BigInteger.ONE
                .shiftLeft(100)
                .multiply(BigInteger.valueOf(f.isNegative(bits) ? -1 : 1))
            : f.exact(bits).whole(integral(sample));
    return IntegerCases.clamp(value, to.bits(), to.isSigned()).longValue();
  }

  private static String integral(Sample sample) {
    return sample.oneOf(INTEGRAL, "rni").substring(0, 2);
  }

  private static long floats(Sample sample, long argument, Type to, Type from) {
    ExactFloat f = ExactFloat.of(from);
    ExactFloat t = ExactFloat.of(to);
    long bits = sample.has("ftz") && from == Type.F32 ? f.flushed(argument) : argument;
    if (f.isNan(bits)) {
      return sample.has("sat") ? 0 : ExactFloat.NAN;
    }
    if (!sample.oneOf(INTEGRAL, "").isEmpty() && !f.isInfinite(bits)) {
      bits = f.round(Exact.of(f.exact(bits).whole(integral(sample))), "rn", f.isNegative(bits));
    }
    long result = f.convert(bits, t, sample.rounding());
    if (sample.has("satfinite")) {
      result = t.finite(result);
    }
    if (sample.has("relu")) {
      result = t.relu(result);
    }
    if (sample.has("ftz") && to == Type.F32) {
      result = t.flushed(result);
    }
    if (sample.has("sat")) {
      result = t.saturated(result);
    }
    // A number of the format lies in the upper bits of 32.
    return to == Type.TF32 ? result << 13 : result;
  }

  /** The first operand goes to the upper half. */
  private static Case pair(Sample sample, Type to) {
    List<Type> types = List.of(Type.F32, Type.F32);
    Type half = FloatCases.single(to);
    return new Case(
        sample.text(),
        IntegerCases.plain(sample, 2),
        List.of(to),
        types,
        Edges.tuples(types),
        Case.each((arguments, results) -> {
          long low = floats(sample, arguments[1], half, Type.F32);
          long high = floats(sample, arguments[0], half, Type.F32);
          boolean right =
              Case.same(half, low, results[0] & 0xFFFF) && Case.same(half, high, results[0] >>> 16);
          return right ? null : Long.toHexString(high) + ":" + Long.toHexString(low);
        }));
  }

  /** To and from two numbers of 8 bits. */
  private static Case small(Sample sample, Type to, Type from) {
    boolean narrows = to.bits() == 16;
    boolean apart = from == Type.F32;
    List<Type> types = apart ? List.of(from, from) : List.of(from);
    ExactFloat f = ExactFloat.of(from);
    ExactFloat t = ExactFloat.of(to);
    return new Case(
        sample.text(),
        IntegerCases.plain(sample, types.size()),
        List.of(to),
        types,
        Edges.tuples(types),
        Case.each((arguments, results) -> {
          for (int i = 0; i < 2; i++) {
            long argument =
                apart ? arguments[1 - i] : arguments[0] >>> i * f.bits() & (1L << f.bits()) - 1;
            long expected = narrows ? narrow(f, t, argument) : f.convert(argument, t, "rn");
            if (sample.has("relu")) {
              expected = t.relu(expected);
            }
            long actual = results[0] >>> i * t.bits() & (1L << t.bits()) - 1;
            boolean right = expected == ExactFloat.NAN ? t.isNan(actual) : expected == actual;
            if (!right) {
              return Long.toHexString(expected) + " in element " + i;
            }
          }
          return null;
        }));
  }

  /** What is too large, infinities too, becomes the largest number. */
  private static long narrow(ExactFloat f, ExactFloat t, long bits) {
    if (f.isNan(bits)) {
      return ExactFloat.NAN;
    }
    long largest = t == ExactFloat.E4M3 ? 0x7E : t.infinity() - 1;
    long sign = f.isNegative(bits) ? t.signBit() : 0;
    if (f.isInfinite(bits)) {
      return largest | sign;
    }
    Exact magnitude = f.isNegative(bits) ? f.exact(bits).negate() : f.exact(bits);
    boolean beyond = magnitude.compare(t.exact(largest)) >= 0;
    return (beyond ? largest : t.round(magnitude, "rn", false)) | sign;
  }

  private static Case pack(Sample sample) {
    String to = sample.modifiers().get(2);
    int bits = Integer.parseInt(to.substring(1));
    boolean signed = to.startsWith("s");
    BigInteger all = BigInteger.ONE.shiftLeft(bits);
    List<Type> types =
        bits == 16 ? List.of(Type.S32, Type.S32) : List.of(Type.S32, Type.S32, Type.B32);
    return IntegerCases.of(
        sample.text(),
        IntegerCases.plain(sample, types.size()),
        Type.B32,
        types,
        Edges.tuples(types),
        a -> {
          BigInteger high = IntegerCases.clamp(a[0], bits, signed).mod(all);
          BigInteger low = IntegerCases.clamp(a[1], bits, signed).mod(all);
          BigInteger rest = bits == 16 ? BigInteger.ZERO : a[2].shiftLeft(2 * bits);
          return rest.or(high.shiftLeft(bits)).or(low);
        });
  }
}
