// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.instruction;

import io.gpupool.soft.ptx.Type;
import java.util.ArrayList;
import java.util.List;

/** Floating arithmetic of every precision, packed and mixed, against exact numbers. */
final class FloatCases {
  private FloatCases() {}

  static List<Case> of(Sample sample) {
    if (sample.types().size() > 1) {
      return List.of(mixed(sample));
    }
    return switch (sample.opcode()) {
      case "testp" -> List.of(property(sample));
      case "copysign" -> List.of(copySign(sample));
      case "min", "max" -> extremes(sample);
      default -> List.of(plain(sample, arguments(sample)));
    };
  }

  private static int arguments(Sample sample) {
    return switch (sample.opcode()) {
      case "abs", "neg", "rcp", "sqrt" -> 1;
      case "fma", "mad" -> 3;
      default -> 2;
    };
  }

  /** Each element of the result from the elements of the arguments, which may be packed. */
  private static Case plain(Sample sample, int arguments) {
    Type type = sample.type();
    ExactFloat format = ExactFloat.of(type);
    List<Type> types = new ArrayList<>();
    for (int i = 0; i < arguments; i++) {
      types.add(type);
    }
    String body = IntegerCases.plain(sample, arguments);
    String name = sample.text() + " of " + arguments;
    return new Case(
        name,
        body,
        List.of(type),
        types,
        Edges.tuples(types),
        elements(type, a -> element(sample, format, a)));
  }

  /** Judges the elements of packed results one by one. */
  static Case.Judge elements(Type type, Case.Single reference) {
    int bits = ExactFloat.of(type).bits();
    int count = type.bits() / bits;
    long mask = bits == 64 ? -1 : (1L << bits) - 1;
    Type single = count == 1 ? type : single(type);
    return Case.each((arguments, results) -> {
      for (int i = 0; i < count; i++) {
        long[] parts = new long[arguments.length];
        for (int j = 0; j < parts.length; j++) {
          parts[j] = arguments[j] >>> i * bits & mask;
        }
        long expected = reference.of(parts);
        if (!Case.same(single, expected, results[0] >>> i * bits & mask)) {
          String what = expected == ExactFloat.NAN ? "NaN" : Long.toHexString(expected);
          return what + " in element " + i;
        }
      }
      return null;
    });
  }

  static Type single(Type packed) {
    return switch (packed) {
      case F16X2 -> Type.F16;
      case BF16X2 -> Type.BF16;
      default -> Type.F32;
    };
  }

  private static long element(Sample sample, ExactFloat f, long[] arguments) {
    long[] a = arguments.clone();
    if (sample.has("ftz")) {
      for (int i = 0; i < a.length; i++) {
        a[i] = f.flushed(a[i]);
      }
    }
    return finished(sample, f, value(sample, f, a));
  }

  private static long value(Sample sample, ExactFloat f, long[] a) {
    String mode = sample.rounding();
    return switch (sample.opcode()) {
      case "add" -> f.add(a[0], a[1], mode);
      case "sub" -> f.add(a[0], a[1] ^ f.signBit(), mode);
      case "mul" -> f.multiply(a[0], a[1], mode);
      case "fma", "mad" -> f.fma(a[0], a[1], a[2], mode);
      case "div" -> f.divide(a[0], a[1], mode);
      case "rcp" -> f.divide(f.one(), a[0], mode);
      case "sqrt" -> f.root(a[0], mode);
      case "abs" -> f.isNan(a[0]) ? ExactFloat.NAN : a[0] & f.signBit() - 1;
      case "neg" -> f.isNan(a[0]) ? ExactFloat.NAN : a[0] ^ f.signBit();
      default -> extreme(sample, f, a);
    };
  }

  private static long finished(Sample sample, ExactFloat f, long value) {
    long result = sample.has("ftz") ? f.flushed(value) : value;
    if (sample.has("relu")) {
      result = f.relu(result);
    }
    return sample.has("sat") ? f.saturated(result) : result;
  }

  private static long extreme(Sample sample, ExactFloat f, long[] arguments) {
    long[] a = arguments.clone();
    if (sample.has("abs")) {
      for (int i = 0; i < a.length; i++) {
        a[i] &= f.signBit() - 1;
      }
    }
    long result = a[0];
    for (int i = 1; i < a.length; i++) {
      result = f.extreme(result, a[i], sample.opcode().equals("min"), sample.has("NaN"));
    }
    if (sample.has("xorsign") && result != ExactFloat.NAN) {
      result |= (arguments[0] ^ arguments[1]) & f.signBit();
    }
    return result;
  }

  /** Single precision takes a third operand; with {@code .abs} alone it has to have one. */
  private static List<Case> extremes(Sample sample) {
    List<Case> cases = new ArrayList<>();
    if (!sample.has("abs") || sample.has("xorsign")) {
      cases.add(plain(sample, 2));
    }
    if (sample.type() == Type.F32 && !sample.has("xorsign")) {
      cases.add(plain(sample, 3));
    }
    return cases;
  }

  private static Case mixed(Sample sample) {
    Type half = sample.type();
    ExactFloat from = ExactFloat.of(half);
    ExactFloat f = ExactFloat.F32;
    boolean fma = sample.opcode().equals("fma");
    List<Type> types = fma ? List.of(half, half, Type.F32) : List.of(half, Type.F32);
    return new Case(
        sample.text(),
        IntegerCases.plain(sample, types.size()),
        List.of(Type.F32),
        types,
        Edges.tuples(types),
        Case.exact(
            Type.F32,
            a -> {
              long[] wide = a.clone();
              for (int i = 0; i + 1 < a.length; i++) {
                long exact = from.convert(a[i], f, "rn");
                wide[i] = exact == ExactFloat.NAN ? f.infinity() + 1 : exact;
              }
              return finished(sample, f, value(sample, f, wide));
            }));
  }

  private static Case property(Sample sample) {
    ExactFloat f = ExactFloat.of(sample.type());
    List<Type> types = List.of(sample.type());
    return new Case(
        sample.text(),
        IntegerCases.plain(sample, 1),
        List.of(Type.PRED),
        types,
        Edges.tuples(types),
        Case.exact(
            Type.PRED,
            a -> {
              boolean finite = !f.isNan(a[0]) && !f.isInfinite(a[0]);
              boolean holds =
                  switch (sample.modifiers().getFirst()) {
                    case "finite" -> finite;
                    case "infinite" -> f.isInfinite(a[0]);
                    case "number" -> !f.isNan(a[0]);
                    case "notanumber" -> f.isNan(a[0]);
                    case "normal" -> finite && !f.isZero(a[0]) && !f.isSubnormal(a[0]);
                    default -> f.isSubnormal(a[0]);
                  };
              return holds ? 1 : 0;
            }));
  }

  private static Case copySign(Sample sample) {
    Type type = sample.type();
    long sign = ExactFloat.of(type).signBit();
    List<Type> types = List.of(type, type);
    return new Case(
        sample.text(),
        IntegerCases.plain(sample, 2),
        List.of(type),
        types,
        Edges.tuples(types),
        Case.exact(type, a -> a[1] & sign - 1 | a[0] & sign));
  }
}
