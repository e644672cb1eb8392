// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.instruction;

import io.gpupool.soft.ptx.Type;
import java.math.BigInteger;
import java.util.List;

/** Comparisons of every kind and combination, and selections. */
final class CompareCases {
  private static final List<String> BOOLEANS = List.of("and", "or", "xor");

  private CompareCases() {}

  static List<Case> of(Sample sample) {
    return switch (sample.opcode()) {
      case "setp" -> List.of(predicates(sample, false), predicates(sample, true));
      case "set" -> List.of(numbers(sample));
      case "selp" -> List.of(select(sample));
      default -> List.of(selectBySign(sample));
    };
  }

  /** The last argument is the predicate to combine with, 0 or 1. */
  private static List<Type> types(Type type) {
    return List.of(type, type, Type.U32);
  }

  private static List<long[]> tuples(Type type) {
    return Edges.tuples(
        "compare " + type, List.of(Edges.of(type), Edges.of(type), List.of(0L, 1L)));
  }

  /** Whether two values, or elements of packed ones, compare so. */
  private static boolean holds(Sample sample, Type type, long[] a, int element) {
    String comparison = sample.modifiers().getFirst();
    if (!type.isFloat()) {
      BigInteger x = IntegerCases.number(a[0], type);
      int order = x.compareTo(IntegerCases.number(a[1], type));
      return switch (comparison) {
        case "eq" -> order == 0;
        case "ne" -> order != 0;
        case "lt", "lo" -> order < 0;
        case "le", "ls" -> order <= 0;
        case "gt", "hi" -> order > 0;
        default -> order >= 0;
      };
    }
    ExactFloat f = ExactFloat.of(type);
    long mask = f.bits() == 64 ? -1 : (1L << f.bits()) - 1;
    long x = a[0] >>> element * f.bits() & mask;
    long y = a[1] >>> element * f.bits() & mask;
    if (sample.has("ftz")) {
      x = f.flushed(x);
      y = f.flushed(y);
    }
    return f.holds(comparison, x, y);
  }

  private static boolean combined(Sample sample, boolean holds, boolean with) {
    return switch (sample.oneOf(BOOLEANS, "")) {
      case "and" -> holds && with;
      case "or" -> holds || with;
      case "xor" -> holds != with;
      default -> holds;
    };
  }

  private static boolean isPair(Type type) {
    return type == Type.F16X2 || type == Type.BF16X2;
  }

  private static Case predicates(Sample sample, boolean negated) {
    Type type = sample.type();
    boolean combines = !sample.oneOf(BOOLEANS, "").isEmpty();
    String body =
        ".reg .pred %c; setp.ne.u32 %c, %a2, 0; "
            + sample.text()
            + " %x0|%x1, %a0, %a1"
            + (combines ? negated ? ", !%c;" : ", %c;" : ";");
    Case.Reference reference =
        a -> {
          boolean with = a[2] != 0 != negated;
          boolean first = holds(sample, type, a, 0);
          boolean second = isPair(type) ? holds(sample, type, a, 1) : !first;
          return new long[] {
            combined(sample, first, with) ? 1 : 0, combined(sample, second, with) ? 1 : 0
          };
        };
    List<Type> results = List.of(Type.PRED, Type.PRED);
    String name = sample.text() + (negated ? " negated" : "");
    return new Case(name, body, results, types(type), tuples(type), Case.exact(results, reference));
  }

  private static Case numbers(Sample sample) {
    Type to = sample.types().getFirst();
    Type type = sample.type();
    boolean combines = !sample.oneOf(BOOLEANS, "").isEmpty();
    String body =
        ".reg .pred %c; setp.ne.u32 %c, %a2, 0; "
            + sample.text()
            + " %x0, %a0, %a1"
            + (combines ? ", %c;" : ";");
    Type result = Type.named("b" + to.bits()).orElseThrow();
    if (to == Type.F32) {
      result = Type.F32;
    }
    Case.Single reference =
        a -> {
          long value = 0;
          for (int i = 0; i < (isPair(type) ? 2 : 1); i++) {
            if (combined(sample, holds(sample, type, a, i), a[2] != 0)) {
              value |= truth(to, type) << 16 * i;
            }
          }
          return value;
        };
    return new Case(
        sample.text(),
        body,
        List.of(result),
        types(type),
        tuples(type),
        Case.exact(result, reference));
  }

  private static long truth(Type to, Type compared) {
    if (to.isFloat()) {
      return ExactFloat.of(to).one();
    }
    return isPair(compared) ? 0xFFFF : Case.mask(to);
  }

  private static Case select(Sample sample) {
    Type type = sample.type();
    String body = ".reg .pred %c; setp.ne.u32 %c, %a2, 0; " + sample.text() + " %x0, %a0, %a1, %c;";
    return new Case(
        sample.text(),
        body,
        List.of(type),
        types(type),
        tuples(type),
        bits(type, a -> a[2] != 0 ? a[0] : a[1]));
  }

  /** As {@link Case#exact}, where a NaN is moved and so keeps its bits. */
  static Case.Judge bits(Type type, Case.Single reference) {
    return Case.each((arguments, results) -> {
      long expected = reference.of(arguments) & Case.mask(type);
      return expected == results[0] ? null : Long.toHexString(expected);
    });
  }

  private static Case selectBySign(Sample sample) {
    Type type = sample.types().getFirst();
    Type sign = sample.type();
    List<Type> types = List.of(type, type, sign);
    Case.Single reference =
        a -> {
          if (sign == Type.S32) {
            return (int) a[2] >= 0 ? a[0] : a[1];
          }
          long c = sample.has("ftz") ? ExactFloat.F32.flushed(a[2]) : a[2];
          return ExactFloat.F32.holds("ge", c, 0) ? a[0] : a[1];
        };
    return new Case(
        sample.text(),
        IntegerCases.plain(sample, 3),
        List.of(type),
        types,
        Edges.tuples(types),
        bits(type, reference));
  }
}
