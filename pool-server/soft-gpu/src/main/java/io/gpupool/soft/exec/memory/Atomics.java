// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.memory;

import io.gpupool.soft.exec.arithmetic.Floats;
import io.gpupool.soft.exec.arithmetic.Halves;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/**
 * Atomic read-modify-write operations at checked native addresses; each returns the old value.
 * Called by generated code with a constant operation, so that the switches fold.
 */
public final class Atomics {
  public static final int ADD = 0;
  public static final int MIN = 1;
  public static final int MAX = 2;
  public static final int MIN_UNSIGNED = 3;
  public static final int MAX_UNSIGNED = 4;
  public static final int AND = 5;
  public static final int OR = 6;
  public static final int XOR = 7;
  public static final int EXCHANGE = 8;
  public static final int INCREMENT = 9;
  public static final int DECREMENT = 10;
  public static final int ADD_FLOAT = 11;
  public static final int MIN_FLOAT = 12;
  public static final int MAX_FLOAT = 13;
  public static final int ADD_HALF2 = 14;
  public static final int ADD_BFLOAT2 = 15;
  public static final int ADD_HALF = 16;
  public static final int ADD_BFLOAT = 17;
  public static final int MIN_HALF = 18;
  public static final int MAX_HALF = 19;
  public static final int MIN_BFLOAT = 20;
  public static final int MAX_BFLOAT = 21;
  public static final int MIN_HALF2 = 22;
  public static final int MAX_HALF2 = 23;
  public static final int MIN_BFLOAT2 = 24;
  public static final int MAX_BFLOAT2 = 25;

  private static final VarHandle INT = ValueLayout.JAVA_INT.varHandle();
  private static final VarHandle LONG = ValueLayout.JAVA_LONG.varHandle();

  private Atomics() {}

  public static int int32(long address, int value, int operation) {
    long at = address & NativeMemory.ADDRESS;
    switch (operation) {
      case ADD:
        return (int) INT.getAndAdd(NativeMemory.ALL, at, value);
      case EXCHANGE:
        return (int) INT.getAndSet(NativeMemory.ALL, at, value);
      default:
        int old = (int) INT.getVolatile(NativeMemory.ALL, at);
        while (true) {
          int seen =
              (int)
                  INT.compareAndExchange(NativeMemory.ALL, at, old, combine(old, value, operation));
          if (seen == old) {
            return old;
          }
          old = seen;
        }
    }
  }

  public static long int64(long address, long value, int operation) {
    long at = address & NativeMemory.ADDRESS;
    switch (operation) {
      case ADD:
        return (long) LONG.getAndAdd(NativeMemory.ALL, at, value);
      case EXCHANGE:
        return (long) LONG.getAndSet(NativeMemory.ALL, at, value);
      default:
        long old = (long) LONG.getVolatile(NativeMemory.ALL, at);
        while (true) {
          long seen =
              (long)
                  LONG.compareAndExchange(
                      NativeMemory.ALL, at, old, combine(old, value, operation));
          if (seen == old) {
            return old;
          }
          old = seen;
        }
    }
  }

  public static int cas32(long address, int expected, int value) {
    return (int)
        INT.compareAndExchange(NativeMemory.ALL, address & NativeMemory.ADDRESS, expected, value);
  }

  public static long cas64(long address, long expected, long value) {
    return (long)
        LONG.compareAndExchange(NativeMemory.ALL, address & NativeMemory.ADDRESS, expected, value);
  }

  /** Works on the aligned word around the two bytes. */
  public static int cas16(long address, int expected, int value) {
    long word = address & ~3L & NativeMemory.ADDRESS;
    int shift = (int) (address & 2) * 8;
    int mask = 0xFFFF << shift;
    while (true) {
      int old = (int) INT.getVolatile(NativeMemory.ALL, word);
      int half = old >>> shift & 0xFFFF;
      if (half != (expected & 0xFFFF)) {
        return half;
      }
      int next = old & ~mask | (value & 0xFFFF) << shift;
      if ((boolean) INT.compareAndSet(NativeMemory.ALL, word, old, next)) {
        return half;
      }
    }
  }

  public static int int16(long address, int value, int operation) {
    long word = address & ~3L & NativeMemory.ADDRESS;
    int shift = (int) (address & 2) * 8;
    int mask = 0xFFFF << shift;
    while (true) {
      int old = (int) INT.getVolatile(NativeMemory.ALL, word);
      int half = old >>> shift & 0xFFFF;
      int next = old & ~mask | (combine(half, value, operation) & 0xFFFF) << shift;
      if ((boolean) INT.compareAndSet(NativeMemory.ALL, word, old, next)) {
        return half;
      }
    }
  }

  /** As {@link #int32}, in memory that only one worker thread sees. */
  public static int plain32(long address, int value, int operation) {
    int old = NativeMemory.getInt(address);
    NativeMemory.putInt(address, combine(old, value, operation));
    return old;
  }

  /** As {@link #int64}, in memory that only one worker thread sees. */
  public static long plain64(long address, long value, int operation) {
    long old = NativeMemory.getLong(address);
    NativeMemory.putLong(address, combine(old, value, operation));
    return old;
  }

  private static int combine(int old, int value, int operation) {
    return switch (operation) {
      case ADD -> old + value;
      case MIN -> Math.min(old, value);
      case MAX -> Math.max(old, value);
      case MIN_UNSIGNED -> Integer.compareUnsigned(old, value) < 0 ? old : value;
      case MAX_UNSIGNED -> Integer.compareUnsigned(old, value) > 0 ? old : value;
      case AND -> old & value;
      case OR -> old | value;
      case XOR -> old ^ value;
      case EXCHANGE -> value;
      case INCREMENT -> Integer.compareUnsigned(old, value) >= 0 ? 0 : old + 1;
      case DECREMENT -> old == 0 || Integer.compareUnsigned(old, value) > 0 ? value : old - 1;
      default -> combineFloat(old, value, operation);
    };
  }

  private static int combineFloat(int old, int value, int operation) {
    float a = Float.intBitsToFloat(old);
    float b = Float.intBitsToFloat(value);
    return switch (operation) {
      case ADD_FLOAT -> Float.floatToRawIntBits(a + b);
      case MIN_FLOAT -> Float.floatToRawIntBits(Floats.min(a, b));
      case MAX_FLOAT -> Float.floatToRawIntBits(Floats.max(a, b));
      case ADD_HALF -> Halves.apply(Halves.F16, Halves.ADD, old, value, 0, 0);
      case ADD_BFLOAT -> Halves.apply(Halves.BF16, Halves.ADD, old, value, 0, 0);
      case MIN_HALF -> Halves.apply(Halves.F16, Halves.MIN, old, value, 0, 0);
      case MAX_HALF -> Halves.apply(Halves.F16, Halves.MAX, old, value, 0, 0);
      case MIN_BFLOAT -> Halves.apply(Halves.BF16, Halves.MIN, old, value, 0, 0);
      case MAX_BFLOAT -> Halves.apply(Halves.BF16, Halves.MAX, old, value, 0, 0);
      case ADD_HALF2 -> Halves.applyPair(Halves.F16, Halves.ADD, old, value, 0, 0);
      case MIN_HALF2 -> Halves.applyPair(Halves.F16, Halves.MIN, old, value, 0, 0);
      case MAX_HALF2 -> Halves.applyPair(Halves.F16, Halves.MAX, old, value, 0, 0);
      case MIN_BFLOAT2 -> Halves.applyPair(Halves.BF16, Halves.MIN, old, value, 0, 0);
      case MAX_BFLOAT2 -> Halves.applyPair(Halves.BF16, Halves.MAX, old, value, 0, 0);
      default -> Halves.applyPair(Halves.BF16, Halves.ADD, old, value, 0, 0);
    };
  }

  private static long combine(long old, long value, int operation) {
    return switch (operation) {
      case ADD -> old + value;
      case MIN -> Math.min(old, value);
      case MAX -> Math.max(old, value);
      case MIN_UNSIGNED -> Long.compareUnsigned(old, value) < 0 ? old : value;
      case MAX_UNSIGNED -> Long.compareUnsigned(old, value) > 0 ? old : value;
      case AND -> old & value;
      case OR -> old | value;
      case XOR -> old ^ value;
      case EXCHANGE -> value;
      default ->
          Double.doubleToRawLongBits(Double.longBitsToDouble(old) + Double.longBitsToDouble(value));
    };
  }
}
