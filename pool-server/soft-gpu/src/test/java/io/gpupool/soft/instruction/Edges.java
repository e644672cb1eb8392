// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.instruction;

import io.gpupool.soft.ptx.Type;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;

/** The values at which instructions go wrong if they do. */
final class Edges {
  private Edges() {}

  /** Bits of a type: zeros, extremes, powers of two and their neighbours, some at random. */
  static List<Long> of(Type type) {
    Set<Long> values = new LinkedHashSet<>();
    switch (type) {
      case F32 -> {
        for (float value :
            new float[] {
              0,
              1,
              1.5f,
              2,
              3,
              0.5f,
              0.1f,
              1 / 3f,
              0x1.fffffep-1f,
              0x1.000002p0f,
              127.5f,
              128,
              255.5f,
              32767.5f,
              65535.5f,
              65536,
              0x1p23f,
              0x1.fffffep23f,
              0x1p31f,
              0x1.fffffep30f,
              0x1p32f,
              0x1p63f,
              0x1p64f,
              1e30f,
              Float.MAX_VALUE,
              Float.MIN_NORMAL,
              Float.intBitsToFloat(0x007FFFFF),
              Float.MIN_VALUE,
              Float.POSITIVE_INFINITY,
              0x1.8p-126f,
              0x1p-127f,
              1e-20f,
              2.5f,
              3.5f,
              0.49999997f
            }) {
          values.add(Float.floatToRawIntBits(value) & 0xFFFF_FFFFL);
          values.add(Float.floatToRawIntBits(-value) & 0xFFFF_FFFFL);
        }
        values.add(0x7FC0_0000L);
        values.add(0xFFC0_1234L);
      }
      case F64 -> {
        for (double value :
            new double[] {
              0,
              1,
              1.5,
              0.1,
              1 / 3.0,
              2.5,
              3.5,
              0x1.fffffffffffffp-1,
              0x1.0000000000001p0,
              255.5,
              0x1p31,
              0x1.fffffffcp30,
              0x1p32,
              0x1p52,
              0x1p53,
              0x1p63,
              0x1p64,
              1e300,
              1e-300,
              Double.MAX_VALUE,
              Double.MIN_NORMAL,
              Double.MIN_VALUE,
              Double.POSITIVE_INFINITY,
              Math.nextDown(Double.MIN_NORMAL),
              Float.MAX_VALUE,
              0x1.ffffffp127,
              Float.MIN_VALUE,
              0x1p-150,
              0x1.000001p-127,
              1e30,
              65504,
              65520
            }) {
          values.add(Double.doubleToRawLongBits(value));
          values.add(Double.doubleToRawLongBits(-value));
        }
        values.add(0x7FF8_0000_0000_0000L);
        values.add(0xFFF8_0000_1234_0000L);
      }
      case F16, BF16 -> {
        for (int bits :
            new int[] {
              0, 1, 2, 0x3FF, 0x400, 0x401, 0x3C00, 0x3C01, 0x3BFF, 0x3E00, 0x4000, 0x4200, 0x3800,
              0x3555, 0x7BFF, 0x7BFE, 0x7C00, 0x7E00, 0x5BFF, 0x6400, 0x7F80, 0x7FC0, 0x3F80,
              0x3FC0, 0x80, 0x7F, 0x7F7F, 0x4F00, 0x5F00, 0x3F81, 0x4040, 0x3EAB
            }) {
          values.add((long) bits);
          values.add(bits | 0x8000L);
        }
      }
      case F16X2 -> pairs(of(Type.F16), 16, values);
      case BF16X2 -> pairs(of(Type.BF16), 16, values);
      case F32X2 -> pairs(of(Type.F32), 32, values);
      case E4M3X2, E5M2X2 -> {
        for (long i = 0; i < 256; i++) {
          values.add(i << 8 | 255 - i);
        }
      }
      case PRED -> values.addAll(List.of(0L, 1L));
      default -> integers(type, values);
    }
    return new ArrayList<>(values);
  }

  private static void pairs(List<Long> single, int bits, Set<Long> values) {
    for (int i = 0; i < single.size(); i++) {
      values.add(single.get((i * 7 + 3) % single.size()) << bits | single.get(i));
    }
  }

  private static void integers(Type type, Set<Long> values) {
    long mask = type.bits() == 64 ? -1L : (1L << type.bits()) - 1;
    for (long value : new long[] {0, 1, 2, 3, 5, 7, 10, 31, 32, 33, 63, 64, 100, 127, 255}) {
      values.add(value & mask);
      values.add(-value & mask);
    }
    for (int bit = 3; bit < type.bits(); bit += 4) {
      values.add(1L << bit & mask);
      values.add((1L << bit) - 1 & mask);
      values.add(-(1L << bit) - 1 & mask);
    }
    Random random = new Random(type.bits());
    for (int i = 0; i < 6; i++) {
      values.add(random.nextLong() & mask);
    }
  }

  /** Shift amounts and bit counts: all small ones, and ones that are too large. */
  static List<Long> amounts() {
    List<Long> amounts = new ArrayList<>();
    for (long i = 0; i <= 66; i++) {
      amounts.add(i);
    }
    amounts.addAll(List.of(127L, 128L, 255L, 256L, 257L, 0x8000_0000L, 0xFFFF_FFFFL));
    return amounts;
  }

  private static final int MOST_TUPLES = 700;

  private static final Map<Object, List<long[]>> MADE = new HashMap<>();

  /** Tuples of the edge values of some types; the same list each time. */
  static List<long[]> tuples(List<Type> types) {
    return MADE.computeIfAbsent(types, _ -> combined(types.stream().map(Edges::of).toList()));
  }

  /** Tuples of some values; the same list each time that it is asked for by a key. */
  static List<long[]> tuples(String key, List<List<Long>> values) {
    return MADE.computeIfAbsent(key, _ -> combined(values));
  }

  /** All combinations, thinned out evenly beyond a number. */
  private static List<long[]> combined(List<List<Long>> values) {
    long total = 1;
    for (List<Long> list : values) {
      total *= list.size();
    }
    long step = Math.max(1, total / MOST_TUPLES);
    // Coprime to most list lengths, so that no value is passed over.
    step = step == 1 ? 1 : BigInteger.valueOf(step).nextProbablePrime().longValue();
    List<long[]> tuples = new ArrayList<>();
    for (long at = 0; at < total; at += step) {
      long rest = at;
      long[] tuple = new long[values.size()];
      for (int i = 0; i < tuple.length; i++) {
        tuple[i] = values.get(i).get((int) (rest % values.get(i).size()));
        rest /= values.get(i).size();
      }
      tuples.add(tuple);
    }
    return tuples;
  }
}
