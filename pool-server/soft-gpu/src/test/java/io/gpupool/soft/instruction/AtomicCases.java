// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.instruction;

import io.gpupool.soft.ptx.Type;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Atomic operations and reductions on 16 bytes of each thread's own: what they return and leave.
 * That they are atomic is for the tests of whole kernels.
 */
final class AtomicCases {
  private static final List<Type> ARGUMENTS = Collections.nCopies(6, Type.B64);
  private static final List<Type> RESULTS = Collections.nCopies(4, Type.B64);
  private static final Map<Type, List<long[]>> TUPLES = new HashMap<>();

  private AtomicCases() {}

  /** Memory before, the operand, and the value to swap in; half of the operands equal memory. */
  private static List<long[]> tuples(Type type) {
    return TUPLES.computeIfAbsent(
        type,
        _ -> {
          Type part = type == Type.B128 ? Type.B64 : type;
          List<Long> values = Edges.of(part);
          List<long[]> tuples = new ArrayList<>();
          for (int i = 0; i < 256; i++) {
            ByteBuffer bytes = MemoryCases.memory(new long[6]);
            for (int at = 0; at < 48; at += part.bytes()) {
              int pick = i * (at < 16 ? 1 : 7) + (at & 15) / part.bytes() * 5 + at / 16;
              MemoryCases.write(bytes, at, part, values.get(pick % values.size()));
            }
            long[] tuple = new long[6];
            for (int j = 0; j < 6; j++) {
              tuple[j] = bytes.getLong(8 * j);
            }
            if (i % 2 == 0 && type != Type.F32 && type != Type.F64) {
              tuple[2] = tuple[0];
              tuple[3] = i % 4 == 0 ? tuple[1] : tuple[3];
            }
            tuples.add(tuple);
          }
          return tuples;
        });
  }

  static List<Case> of(Sample sample) {
    Type type = sample.type();
    boolean returns = sample.opcode().equals("atom");
    int count = sample.has("v8") ? 8 : sample.has("v4") ? 4 : sample.has("v2") ? 2 : 1;
    String place = MemoryCases.place(sample);
    String space = MemoryCases.plainSpace(sample);
    StringBuilder body = new StringBuilder();
    body.append(
        "st.%s.b64 [%s], %%a0; st.%s.b64 [%s+8], %%a1; ".formatted(space, place, space, place));
    body.append("mov.b64 %w, 0; st.local.b64 [%l+32], %w; st.local.b64 [%l+40], %w; ");
    for (int i = 2; i < 6; i++) {
      body.append("st.local.b64 [%%l+%d], %%a%d; ".formatted(8 * i - 16, i));
    }
    String kind = type == Type.F32 || type == Type.F64 ? type.ptxName() : "b" + type.bits();
    body.append(".reg .%s %%b<8>, %%c, %%o<8>; ".formatted(kind));
    List<String> operands = new ArrayList<>();
    List<String> old = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      body.append("ld.local.%s %%b%d, [%%l+%d]; ".formatted(kind, i, i * type.bytes()));
      operands.add("%b" + i);
      old.add("%o" + i);
    }
    body.append("ld.local.%s %%c, [%%l+16]; ".formatted(kind));
    String to = count == 1 ? "%o0" : "{" + String.join(", ", old) + "}";
    String from = count == 1 ? "%b0" : "{" + String.join(", ", operands) + "}";
    body.append(sample.text()).append(' ');
    body.append(returns ? to + ", " : "");
    body.append("[").append(place).append("], ").append(from);
    body.append(sample.has("cas") ? ", %c" : "");
    body.append(sample.has("L2::cache_hint") ? ", %w; " : "; ");
    for (int i = 0; returns && i < count; i++) {
      body.append("st.local.%s [%%l+%d], %%o%d; ".formatted(kind, 32 + i * type.bytes(), i));
    }
    body.append("ld.local.b64 %x0, [%l+32]; ld.local.b64 %x1, [%l+40]; ");
    body.append(
        "ld.%s.b64 %%x2, [%s]; ld.%s.b64 %%x3, [%s+8];".formatted(space, place, space, place));
    Case.Check check = (a, results) -> wrong(sample, type, count, returns, a, results);
    return List.of(
        new Case(
            sample.text(), body.toString(), RESULTS, ARGUMENTS, tuples(type), Case.each(check)));
  }

  private static String wrong(
      Sample sample, Type type, int count, boolean returns, long[] a, long[] results) {
    if (type == Type.B128) {
      boolean swaps = !sample.has("cas") || a[0] == a[2] && a[1] == a[3];
      int from = sample.has("cas") ? 4 : 2;
      boolean right =
          results[0] == a[0]
              && results[1] == a[1]
              && results[2] == (swaps ? a[from] : a[0])
              && results[3] == (swaps ? a[from + 1] : a[1]);
      return right ? null : "swapped " + swaps;
    }
    ByteBuffer before = MemoryCases.memory(a[0], a[1]);
    ByteBuffer operand = MemoryCases.memory(a[2], a[3]);
    ByteBuffer swap = MemoryCases.memory(a[4], a[5]);
    ByteBuffer after = MemoryCases.memory(results[2], results[3]);
    ByteBuffer returned = MemoryCases.memory(results[0], results[1]);
    for (int i = 0; i < 16 / type.bytes(); i++) {
      int at = i * type.bytes();
      long x = MemoryCases.read(before, at, type) & Case.mask(type);
      long y = MemoryCases.read(operand, at, type) & Case.mask(type);
      long z = MemoryCases.read(swap, at, type) & Case.mask(type);
      long given = returns && i < count ? x : 0;
      if (given != (MemoryCases.read(returned, at, type) & Case.mask(type))) {
        return Long.toHexString(given) + " returned for element " + i;
      }
      long left = MemoryCases.read(after, at, type) & Case.mask(type);
      boolean right = i < count ? isResult(sample, type, x, y, z, left) : left == x;
      if (!right) {
        return "element " + i + " left so";
      }
    }
    return null;
  }

  private static boolean isResult(Sample sample, Type type, long x, long y, long z, long actual) {
    if (!type.isFloat()) {
      return (whole(sample, type, x, y, z) & Case.mask(type)) == actual;
    }
    ExactFloat f = ExactFloat.of(type);
    long mask = f.bits() == 64 ? -1 : (1L << f.bits()) - 1;
    for (int shift = 0; shift < type.bits(); shift += f.bits()) {
      long a = x >>> shift & mask;
      long b = y >>> shift & mask;
      long expected =
          sample.has("add") ? f.add(a, b, "rn") : f.extreme(a, b, sample.has("min"), false);
      long found = actual >>> shift & mask;
      if (expected == ExactFloat.NAN ? !f.isNan(found) : expected != found) {
        return false;
      }
    }
    return true;
  }

  private static long whole(Sample sample, Type type, long x, long y, long z) {
    String operation =
        sample.oneOf(List.of("cas", "exch", "and", "or", "xor", "inc", "dec", "min", "max"), "add");
    return switch (operation) {
      case "cas" -> x == y ? z : x;
      case "exch" -> y;
      case "and" -> x & y;
      case "or" -> x | y;
      case "xor" -> x ^ y;
      case "inc" -> x >= y ? 0 : x + 1;
      case "dec" -> x == 0 || x > y ? y : x - 1;
      case "min" -> IntegerCases.number(x, type).min(IntegerCases.number(y, type)).longValue();
      case "max" -> IntegerCases.number(x, type).max(IntegerCases.number(y, type)).longValue();
      default -> x + y;
    };
  }
}
