// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.arithmetic;

/** Integer instructions that the JVM has no single instruction for. Called by generated code. */
public final class Integers {
  private Integers() {}

  // Division by zero does not trap on a GPU; all bits set is what the hardware's sequence yields.

  public static int div(int a, int b) {
    return b == 0 ? -1 : a / b;
  }

  public static int rem(int a, int b) {
    return b == 0 ? a : a % b;
  }

  public static int divUnsigned(int a, int b) {
    return b == 0 ? -1 : Integer.divideUnsigned(a, b);
  }

  public static int remUnsigned(int a, int b) {
    return b == 0 ? a : Integer.remainderUnsigned(a, b);
  }

  public static long div(long a, long b) {
    return b == 0 ? -1 : a / b;
  }

  public static long rem(long a, long b) {
    return b == 0 ? a : a % b;
  }

  public static long divUnsigned(long a, long b) {
    return b == 0 ? -1 : Long.divideUnsigned(a, b);
  }

  public static long remUnsigned(long a, long b) {
    return b == 0 ? a : Long.remainderUnsigned(a, b);
  }

  public static int mulHigh(int a, int b) {
    return (int) ((long) a * b >> 32);
  }

  public static int mulHighUnsigned(int a, int b) {
    return (int) ((a & 0xFFFF_FFFFL) * (b & 0xFFFF_FFFFL) >>> 32);
  }

  public static int mul24(int a, int b) {
    return (a << 8 >> 8) * (b << 8 >> 8);
  }

  public static int mul24High(int a, int b) {
    return (int) ((long) (a << 8 >> 8) * (b << 8 >> 8) >> 16);
  }

  public static int mul24Unsigned(int a, int b) {
    return (a & 0xFF_FFFF) * (b & 0xFF_FFFF);
  }

  public static int mul24HighUnsigned(int a, int b) {
    return (int) ((long) (a & 0xFF_FFFF) * (b & 0xFF_FFFF) >>> 16);
  }

  public static int minUnsigned(int a, int b) {
    return Integer.compareUnsigned(a, b) < 0 ? a : b;
  }

  public static int maxUnsigned(int a, int b) {
    return Integer.compareUnsigned(a, b) > 0 ? a : b;
  }

  public static long minUnsigned(long a, long b) {
    return Long.compareUnsigned(a, b) < 0 ? a : b;
  }

  public static long maxUnsigned(long a, long b) {
    return Long.compareUnsigned(a, b) > 0 ? a : b;
  }

  public static int isNotZero(int a) {
    return a != 0 ? 1 : 0;
  }

  /** Clamps a sum, difference or product to 32 bits. */
  public static int saturate(long value) {
    return (int) Math.clamp(value, Integer.MIN_VALUE, (long) Integer.MAX_VALUE);
  }

  public static int carry(int a, int b, int carryIn) {
    return (int) ((a & 0xFFFF_FFFFL) + (b & 0xFFFF_FFFFL) + carryIn >>> 32);
  }

  public static int carry(long a, long b, int carryIn) {
    long sum = a + b;
    int carry = Long.compareUnsigned(sum, a) < 0 ? 1 : 0;
    return carry | (sum == -1 && carryIn != 0 ? 1 : 0);
  }

  public static int sad(int a, int b, int c) {
    return c + (a < b ? b - a : a - b);
  }

  public static int sadUnsigned(int a, int b, int c) {
    return c + (Integer.compareUnsigned(a, b) < 0 ? b - a : a - b);
  }

  public static long sad(long a, long b, long c) {
    return c + (a < b ? b - a : a - b);
  }

  public static long sadUnsigned(long a, long b, long c) {
    return c + (Long.compareUnsigned(a, b) < 0 ? b - a : a - b);
  }

  public static int shl(int a, int n) {
    return Integer.compareUnsigned(n, 31) > 0 ? 0 : a << n;
  }

  public static long shl(long a, int n) {
    return Integer.compareUnsigned(n, 63) > 0 ? 0 : a << n;
  }

  public static int shr(int a, int n) {
    return a >> (Integer.compareUnsigned(n, 31) > 0 ? 31 : n);
  }

  public static long shr(long a, int n) {
    return a >> (Integer.compareUnsigned(n, 63) > 0 ? 63 : n);
  }

  public static int shrUnsigned(int a, int n) {
    return Integer.compareUnsigned(n, 31) > 0 ? 0 : a >>> n;
  }

  public static long shrUnsigned(long a, int n) {
    return Integer.compareUnsigned(n, 63) > 0 ? 0 : a >>> n;
  }

  public static int funnelLeft(int low, int high, int n) {
    long both = (long) high << 32 | low & 0xFFFF_FFFFL;
    return (int) (both << (n & 31) >>> 32);
  }

  public static int funnelRight(int low, int high, int n) {
    long both = (long) high << 32 | low & 0xFFFF_FFFFL;
    return (int) (both >>> (n & 31));
  }

  public static int funnelLeftClamp(int low, int high, int n) {
    return Integer.compareUnsigned(n, 31) > 0 ? low : funnelLeft(low, high, n);
  }

  public static int funnelRightClamp(int low, int high, int n) {
    return Integer.compareUnsigned(n, 31) > 0 ? high : funnelRight(low, high, n);
  }

  public static int bfe(int a, int start, int length) {
    return (int) bfe((long) a, start & 255, length & 255, 31);
  }

  public static int bfeUnsigned(int a, int start, int length) {
    return (int) bfeUnsigned(a & 0xFFFF_FFFFL, start & 255, length & 255);
  }

  public static long bfe(long a, int start, int length) {
    return bfe(a, start & 255, length & 255, 63);
  }

  private static long bfe(long a, int start, int length, int top) {
    if (length == 0) {
      return 0;
    }
    int end = start + length - 1;
    if (end >= top) {
      // The field reaches past the value: what is missing is copies of the sign bit.
      return a >> Math.min(start, top);
    }
    return a << 63 - end >> 64 - length;
  }

  public static long bfeUnsigned(long a, int start, int length) {
    int from = start & 255;
    int count = length & 255;
    long field = from > 63 ? 0 : a >>> from;
    return count > 63 ? field : field & (1L << count) - 1;
  }

  public static int bfi(int insert, int base, int start, int length) {
    int from = start & 255;
    int count = length & 255;
    long mask = from > 31 ? 0 : (count > 31 ? -1L : (1L << count) - 1) << from;
    return (int) (base & ~mask | (long) insert << Math.min(from, 32) & mask);
  }

  public static long bfi(long insert, long base, int start, int length) {
    int from = start & 255;
    int count = length & 255;
    if (from > 63) {
      return base;
    }
    long mask = (count > 63 ? -1L : (1L << count) - 1) << from;
    return base & ~mask | insert << from & mask;
  }

  public static int bfind(int a) {
    return 31 - Integer.numberOfLeadingZeros(a < 0 ? ~a : a);
  }

  public static int bfindUnsigned(int a) {
    return 31 - Integer.numberOfLeadingZeros(a);
  }

  public static int bfind(long a) {
    return 63 - Long.numberOfLeadingZeros(a < 0 ? ~a : a);
  }

  public static int bfindUnsigned(long a) {
    return 63 - Long.numberOfLeadingZeros(a);
  }

  /** {@code .shiftamt}: how far to shift left to bring the found bit to the top. */
  public static int shiftAmount(int found, int top) {
    return found < 0 ? -1 : top - found;
  }

  public static int bmskClamp(int start, int length) {
    long from = Math.min(start & 0xFFFF_FFFFL, 32);
    long count = Math.min(length & 0xFFFF_FFFFL, 32);
    return (int) ((1L << count) - 1 << from);
  }

  public static int bmskWrap(int start, int length) {
    return (int) ((1L << (length & 31)) - 1 << (start & 31));
  }

  public static int szext(int a, int bits, boolean signed, boolean clamp) {
    int n = clamp ? minUnsigned(bits, 32) : bits & 31;
    if (n == 0) {
      return 0;
    }
    return signed ? a << 32 - n >> 32 - n : a << 32 - n >>> 32 - n;
  }

  /** Position of the {@code offset}-th set bit, counted from {@code base} up or down. */
  public static int fns(int mask, int base, int offset) {
    int step = offset < 0 ? -1 : 1;
    int wanted = offset == 0 ? 1 : Math.abs(offset);
    if (offset == 0) {
      return (base & ~31) == 0 && (mask >>> base & 1) == 1 ? base : -1;
    }
    for (int bit = base; bit >= 0 && bit < 32; bit += step) {
      if ((mask >>> bit & 1) == 1 && --wanted == 0) {
        return bit;
      }
    }
    return -1;
  }

  public static int prmt(int a, int b, int selector) {
    long bytes = (long) b << 32 | a & 0xFFFF_FFFFL;
    int result = 0;
    for (int i = 0; i < 4; i++) {
      int control = selector >>> 4 * i;
      int value = (byte) (bytes >>> 8 * (control & 7));
      if ((control & 8) != 0) {
        value >>= 7;
      }
      result |= (value & 255) << 8 * i;
    }
    return result;
  }

  private static final int[][] PRMT_MODES = {
    {0x3210, 0x4321, 0x5432, 0x6543}, // f4e
    {0x5670, 0x6701, 0x7012, 0x0123}, // b4e
    {0x0000, 0x1111, 0x2222, 0x3333}, // rc8
    {0x3210, 0x3211, 0x3222, 0x3333}, // ecl
    {0x0000, 0x1110, 0x2210, 0x3210}, // ecr
    {0x1010, 0x3232, 0x1010, 0x3232}, // rc16
  };

  public static int prmtMode(int a, int b, int selector, int mode) {
    return prmt(a, b, PRMT_MODES[mode][selector & 3]);
  }

  public static int lop3(int a, int b, int c, int table) {
    int result = 0;
    for (int i = 0; i < 8; i++) {
      if ((table >>> i & 1) != 0) {
        result |= ((i & 4) != 0 ? a : ~a) & ((i & 2) != 0 ? b : ~b) & ((i & 1) != 0 ? c : ~c);
      }
    }
    return result;
  }

  public static int dp4a(int a, int b, int c, boolean signedA, boolean signedB) {
    int sum = c;
    for (int i = 0; i < 32; i += 8) {
      int x = signedA ? (byte) (a >>> i) : a >>> i & 255;
      int y = signedB ? (byte) (b >>> i) : b >>> i & 255;
      sum += x * y;
    }
    return sum;
  }

  public static int dp2a(int a, int b, int c, boolean signedA, boolean signedB, boolean high) {
    int sum = c;
    for (int i = 0; i < 2; i++) {
      int x = signedA ? (short) (a >>> 16 * i) : a >>> 16 * i & 0xFFFF;
      int at = 8 * i + (high ? 16 : 0);
      int y = signedB ? (byte) (b >>> at) : b >>> at & 255;
      sum += x * y;
    }
    return sum;
  }
}
