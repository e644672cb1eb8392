// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.fuzz;

import io.gpupool.soft.ptx.Statement.Instruction;
import io.gpupool.soft.ptx.Type;
import java.math.BigInteger;

/** Integer and bit instructions, worked out on whole numbers of any length. */
final class Whole {
  private Whole() {}

  /** Cuts bits to a width. */
  static long cut(int width, long bits) {
    return width == 64 ? bits : bits & (1L << width) - 1;
  }

  /** The bits that stand for a number modulo 2^width. */
  static long bits(int width, BigInteger number) {
    return cut(width, number.longValue());
  }

  /** The number that bits stand for in a type. */
  static BigInteger number(Type type, long bits) {
    long value = cut(type.bits(), bits);
    BigInteger number = BigInteger.valueOf(value);
    if (number.signum() < 0) {
      number = number.add(BigInteger.ONE.shiftLeft(64));
    }
    boolean negative = type.isSigned() && (value >>> type.bits() - 1 & 1) != 0;
    return negative ? number.subtract(BigInteger.ONE.shiftLeft(type.bits())) : number;
  }

  /** Bits of a number brought into the range of a type. */
  static long clamped(Type type, BigInteger number) {
    int width = type.bits();
    BigInteger most = BigInteger.ONE.shiftLeft(type.isSigned() ? width - 1 : width);
    BigInteger least = type.isSigned() ? most.negate() : BigInteger.ZERO;
    return bits(width, number.max(least).min(most.subtract(BigInteger.ONE)));
  }

  /** The result's bits, of twice the type's width for {@code .wide}. */
  static long compute(Instruction instruction, Type type, long[] args) {
    int width = type.bits();
    if (type == Type.U16X2 || type == Type.S16X2) {
      return pair(instruction, type == Type.U16X2 ? Type.U16 : Type.S16, args);
    }
    BigInteger[] n = new BigInteger[args.length];
    for (int i = 0; i < args.length; i++) {
      n[i] = number(type, args[i]);
    }
    BigInteger sum =
        switch (instruction.opcode()) {
          case "add" -> n[0].add(n[1]);
          case "sub" -> n[0].subtract(n[1]);
          case "mul" -> product(instruction, type, n);
          case "mad" -> madd(instruction, type, n, args);
          case "mul24" -> product24(instruction, type, args);
          case "mad24" -> product24(instruction, type, args).add(n[2]);
          case "div" -> n[0].divide(n[1]);
          case "rem" -> n[0].remainder(n[1]);
          case "min" -> n[0].min(n[1]);
          case "max" -> n[0].max(n[1]);
          case "neg" -> n[0].negate();
          case "abs" -> n[0].abs();
          case "sad" -> n[2].add(n[0].subtract(n[1]).abs());
          default -> BigInteger.valueOf(bitwise(instruction, type, args));
        };
    if (instruction.has("sat")) {
      return clamped(type, sum);
    }
    if (instruction.has("relu")) {
      sum = sum.max(BigInteger.ZERO);
    }
    return bits(instruction.has("wide") ? 2 * width : width, sum);
  }

  private static long pair(Instruction instruction, Type half, long[] args) {
    long[] low = {args[0] & 0xFFFF, args[1] & 0xFFFF};
    long[] high = {args[0] >>> 16 & 0xFFFF, args[1] >>> 16 & 0xFFFF};
    return compute(instruction, half, high) << 16 | compute(instruction, half, low);
  }

  private static BigInteger product(Instruction instruction, Type type, BigInteger[] n) {
    BigInteger product = n[0].multiply(n[1]);
    return instruction.has("hi") ? product.shiftRight(type.bits()) : product;
  }

  /** The addend of a wide product has the width of the product. */
  private static BigInteger madd(Instruction instruction, Type type, BigInteger[] n, long[] args) {
    BigInteger product = product(instruction, type, n);
    return product.add(instruction.has("wide") ? BigInteger.valueOf(args[2]) : n[2]);
  }

  private static BigInteger product24(Instruction instruction, Type type, long[] args) {
    BigInteger product = low24(type, args[0]).multiply(low24(type, args[1]));
    return instruction.has("hi") ? product.shiftRight(16) : product;
  }

  private static BigInteger low24(Type type, long bits) {
    long low = bits & 0xFF_FFFF;
    return BigInteger.valueOf(type.isSigned() && low >= 1 << 23 ? low - (1 << 24) : low);
  }

  private static long bitwise(Instruction instruction, Type type, long[] args) {
    int width = type.bits();
    long a = cut(width, args[0]);
    long b = args.length > 1 ? args[1] : 0;
    boolean negative = type.isSigned() && (a >>> width - 1 & 1) != 0;
    return switch (instruction.opcode()) {
      case "and" -> a & b;
      case "or" -> a | b;
      case "xor" -> a ^ b;
      case "not" -> ~a;
      case "cnot" -> a == 0 ? 1 : 0;
      case "shl" -> shifted(type, a, cut(32, b), true);
      case "shr" -> shifted(type, a, cut(32, b), false);
      case "shf" -> funnel(instruction, args);
      case "lop3" -> lop3(args);
      case "popc" -> count(a, width);
      case "clz" -> width - length(a);
      case "bfind" -> bfind(instruction, negative ? cut(width, ~a) : a, width);
      case "brev" -> reverse(a, width);
      case "bfe" -> bfe(type, a, (int) (b & 0xFF), (int) (args[2] & 0xFF));
      case "bfi" -> bfi(width, a, b, (int) (args[2] & 0xFF), (int) (args[3] & 0xFF));
      case "bmsk" -> bmsk(instruction, cut(32, a), cut(32, b));
      case "szext" -> szext(instruction, type, cut(32, a), cut(32, b));
      case "prmt" -> prmt(instruction, cut(32, a), cut(32, b), args[2]);
      case "dp4a" -> dot(instruction, args, 4);
      case "dp2a" -> dot(instruction, args, 2);
      case "fns" -> fns(cut(32, a), cut(32, b), (int) args[2]);
      default -> throw new IllegalStateException("no reference for " + instruction.text());
    };
  }

  private static int count(long bits, int width) {
    int count = 0;
    for (int i = 0; i < width; i++) {
      count += (int) (bits >>> i & 1);
    }
    return count;
  }

  /** Number of bits up to the highest one that is set. */
  private static int length(long bits) {
    int length = 0;
    while (length < 64 && bits >>> length != 0) {
      length++;
    }
    return length;
  }

  private static long bfind(Instruction instruction, long bits, int width) {
    int highest = length(bits) - 1;
    return highest < 0 ? 0xFFFF_FFFFL : instruction.has("shiftamt") ? width - 1 - highest : highest;
  }

  private static long reverse(long bits, int width) {
    long reversed = 0;
    for (int i = 0; i < width; i++) {
      reversed |= (bits >>> i & 1) << width - 1 - i;
    }
    return reversed;
  }

  private static long shifted(Type type, long a, long amount, boolean left) {
    int by = (int) Math.min(amount, type.bits());
    BigInteger number = number(type, a);
    return (left ? number.shiftLeft(by) : number.shiftRight(by)).longValue();
  }

  private static long funnel(Instruction instruction, long[] args) {
    long both = cut(32, args[1]) << 32 | cut(32, args[0]);
    long amount = cut(32, args[2]);
    int by = (int) (instruction.has("wrap") ? amount & 31 : Math.min(amount, 32));
    BigInteger number = number(Type.U64, both);
    return instruction.has("l")
        ? number.shiftLeft(by).shiftRight(32).longValue()
        : number.shiftRight(by).longValue();
  }

  private static long lop3(long[] args) {
    long result = 0;
    for (int i = 0; i < 32; i++) {
      int row = (int) ((args[0] >> i & 1) << 2 | (args[1] >> i & 1) << 1 | args[2] >> i & 1);
      result |= (args[3] >> row & 1) << i;
    }
    return result;
  }

  private static long bfe(Type type, long a, int from, int length) {
    int width = type.bits();
    long sign = 0;
    if (type.isSigned() && length > 0) {
      sign = a >>> Math.min(from + length - 1, width - 1) & 1;
    }
    long result = 0;
    for (int i = 0; i < width; i++) {
      boolean inside = i < length && from + i < width;
      result |= (inside ? a >>> from + i & 1 : sign) << i;
    }
    return result;
  }

  private static long bfi(int width, long a, long b, int at, int length) {
    long result = b;
    for (int i = 0; i < length && at + i < width; i++) {
      result = result & ~(1L << at + i) | (a >>> i & 1) << at + i;
    }
    return result;
  }

  private static long bmsk(Instruction instruction, long from, long length) {
    boolean wrap = instruction.has("wrap");
    long first = wrap ? from & 31 : from;
    long many = wrap ? length & 31 : Math.min(length, 32);
    long result = 0;
    for (long i = first; i < first + many && i < 32; i++) {
      result |= 1L << i;
    }
    return result;
  }

  private static long szext(Instruction instruction, Type type, long a, long length) {
    long many = instruction.has("wrap") ? length & 31 : Math.min(length, 32);
    if (many == 0) {
      return 0;
    }
    long sign = type.isSigned() ? a >>> many - 1 & 1 : 0;
    long result = 0;
    for (int i = 0; i < 32; i++) {
      result |= (i < many ? a >>> i & 1 : sign) << i;
    }
    return result;
  }

  private static long prmt(Instruction instruction, long a, long b, long selector) {
    long both = b << 32 | a;
    long result = 0;
    for (int i = 0; i < 4; i++) {
      int pick = (int) (selector & 3);
      int nibble = (int) (selector >>> 4 * i & 15);
      int source =
          instruction.has("f4e")
              ? pick + i
              : instruction.has("b4e")
                  ? pick - i & 7
                  : instruction.has("rc8")
                      ? pick
                      : instruction.has("ecl")
                          ? Math.max(i, pick)
                          : instruction.has("ecr")
                              ? Math.min(i, pick)
                              : instruction.has("rc16") ? (pick & 1) * 2 + (i & 1) : nibble & 7;
      long octet = both >>> 8 * source & 255;
      boolean plain = instruction.modifiers().equals(java.util.List.of("b32"));
      if (plain && nibble >= 8) {
        octet = octet >= 128 ? 255 : 0;
      }
      result |= octet << 8 * i;
    }
    return result;
  }

  /** {@code dp4a}, {@code dp2a}: types of both factors are named. */
  private static long dot(Instruction instruction, long[] args, int terms) {
    boolean firstSigned = instruction.modifiers().get(terms == 4 ? 0 : 1).equals("s32");
    boolean secondSigned = instruction.modifiers().getLast().equals("s32");
    long sum = args[2];
    for (int i = 0; i < terms; i++) {
      int firstBits = terms == 4 ? 8 : 16;
      int at = terms == 2 && instruction.has("hi") ? i + 2 : i;
      sum += part(args[0], i, firstBits, firstSigned) * part(args[1], at, 8, secondSigned);
    }
    return sum;
  }

  private static long part(long bits, int index, int width, boolean signed) {
    long part = bits >>> index * width & (1L << width) - 1;
    return signed && part >= 1L << width - 1 ? part - (1L << width) : part;
  }

  /** Finds the n-th set bit from a place on. */
  private static long fns(long mask, long base, int offset) {
    int left = Math.abs(offset);
    if (offset == 0) {
      return (mask >>> base & 1) != 0 ? base : 0xFFFF_FFFFL;
    }
    for (long at = base; at >= 0 && at < 32; at += offset > 0 ? 1 : -1) {
      if ((mask >>> at & 1) != 0 && --left == 0) {
        return at;
      }
    }
    return 0xFFFF_FFFFL;
  }
}
