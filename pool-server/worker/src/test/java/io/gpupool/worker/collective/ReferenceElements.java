// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

import io.gpupool.cuda.ReduceOperation;
import io.gpupool.soft.exec.arithmetic.SmallFloats;
import io.gpupool.worker.os.Memory;
import java.util.Random;

/** Elements one by one, as bits, computed in the plainest way. */
record ReferenceElements(ElementType type) {
  long get(long address) {
    return switch (type.bytes()) {
      case 1 -> Memory.getByte(address);
      case 2 -> (short) Memory.getShort(address);
      case 4 -> Memory.getInt(address);
      default -> Memory.getLong(address);
    };
  }

  void put(long address, long bits) {
    switch (type.bytes()) {
      case 1 -> Memory.putByte(address, (int) bits);
      case 2 -> Memory.putShort(address, (int) bits);
      case 4 -> Memory.putInt(address, (int) bits);
      default -> Memory.putLong(address, bits);
    }
  }

  /** A number whose sums and products with others of this kind are exact. */
  long random(Random random, int operation) {
    if (isInteger()) {
      return wrapped(random.nextLong());
    }
    boolean isProduct = operation == ReduceOperation.PRODUCT;
    boolean isTiny = type.bytes() == 1;
    return of(isProduct ? 1 + random.nextInt(2) : random.nextInt(isTiny ? 2 : 15));
  }

  /** A number whose double no element is. */
  long largestPowerOfTwo() {
    return of(
        switch (type) {
          case FLOAT16, FLOAT8_E5M2 -> 0x1p15;
          case FLOAT8_E4M3 -> 0x1p8;
          case FLOAT64 -> 0x1p1023;
          default -> 0x1p127;
        });
  }

  /** A factor of the same kind. */
  long factor() {
    return isInteger() ? 3 : of(2);
  }

  long combine(int operation, long a, long b) {
    if (isInteger()) {
      return wrapped(
          switch (operation) {
            case ReduceOperation.PRODUCT -> a * b;
            case ReduceOperation.MAXIMUM -> isLess(a, b) ? b : a;
            case ReduceOperation.MINIMUM -> isLess(a, b) ? a : b;
            default -> a + b;
          });
    }
    double x = number(a);
    double y = number(b);
    return of(
        switch (operation) {
          case ReduceOperation.PRODUCT -> x * y;
          case ReduceOperation.MAXIMUM -> Math.max(x, y);
          case ReduceOperation.MINIMUM -> Math.min(x, y);
          default -> x + y;
        });
  }

  long multiply(long a, long factor) {
    return combine(ReduceOperation.PRODUCT, a, factor);
  }

  /** Returns a rank's part of an average. */
  long averaged(long a, int ranks) {
    return isInteger() ? a : multiply(a, of(1.0 / ranks));
  }

  /** Makes an average of a sum of parts. */
  long divide(long a, int divisor) {
    if (!isInteger()) {
      return a;
    }
    return wrapped(isSigned() ? a / divisor : Long.divideUnsigned(a, divisor));
  }

  private boolean isLess(long a, long b) {
    return isSigned() ? a < b : Long.compareUnsigned(a, b) < 0;
  }

  private boolean isInteger() {
    return type.ordinal() <= ElementType.UINT64.ordinal();
  }

  private boolean isSigned() {
    return type == ElementType.INT8 || type == ElementType.INT32 || type == ElementType.INT64;
  }

  private long wrapped(long value) {
    return switch (type) {
      case INT8 -> (byte) value;
      case UINT8 -> value & 0xff;
      case INT32 -> (int) value;
      case UINT32 -> value & 0xffffffffL;
      default -> value;
    };
  }

  double number(long bits) {
    return switch (type) {
      case FLOAT16 -> Float.float16ToFloat((short) bits);
      case BFLOAT16 -> Float.intBitsToFloat((int) bits << 16);
      case FLOAT32 -> Float.intBitsToFloat((int) bits);
      case FLOAT8_E4M3 -> SmallFloats.toFloat((int) bits & 0xff, SmallFloats.E4M3);
      case FLOAT8_E5M2 -> SmallFloats.toFloat((int) bits & 0xff, SmallFloats.E5M2);
      default -> Double.longBitsToDouble(bits);
    };
  }

  long of(double number) {
    float single = (float) number;
    return switch (type) {
      case FLOAT16 -> Float.floatToFloat16(single);
      case BFLOAT16 -> brain(single);
      case FLOAT32 -> Float.floatToRawIntBits(single);
      case FLOAT8_E4M3 -> SmallFloats.ofPair(0, single, SmallFloats.E4M3, false);
      case FLOAT8_E5M2 -> SmallFloats.ofPair(0, single, SmallFloats.E5M2, false);
      default -> Double.doubleToRawLongBits(number);
    };
  }

  private static long brain(float number) {
    int down = Float.floatToRawIntBits(number) >>> 16;
    float below = Float.intBitsToFloat(down << 16);
    float above = Float.intBitsToFloat(down + 1 << 16);
    double error = Math.abs((double) number - below) - Math.abs((double) above - number);
    return error > 0 || error == 0 && (down & 1) != 0 ? down + 1 : down;
  }
}
