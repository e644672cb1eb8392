// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.instruction;

import io.gpupool.soft.ptx.Type;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.Function;

/** Integer arithmetic and carry chains, against numbers of any length. */
final class IntegerCases {
  private static final BigInteger ZERO = BigInteger.ZERO;
  private static final BigInteger ONE = BigInteger.ONE;

  private IntegerCases() {}

  /** What an instruction gives; null where PTX leaves it open. */
  interface Numbers extends Function<BigInteger[], BigInteger> {}

  static BigInteger number(long bits, Type type) {
    int unused = 64 - type.bits();
    if (type.isSigned()) {
      return BigInteger.valueOf(bits << unused >> unused);
    }
    return new BigInteger(Long.toUnsignedString(bits << unused >>> unused));
  }

  static BigInteger clamp(BigInteger number, int bits, boolean signed) {
    BigInteger max = ONE.shiftLeft(signed ? bits - 1 : bits).subtract(ONE);
    BigInteger min = signed ? max.negate().subtract(ONE) : ZERO;
    return number.max(min).min(max);
  }

  /** A case whose arguments and result are integers. */
  static Case of(
      String name,
      String body,
      Type result,
      List<Type> types,
      List<long[]> tuples,
      Numbers numbers) {
    Case.Check check =
        (arguments, results) -> {
          BigInteger expected = numbers.apply(numbers(arguments, types));
          long bits = expected == null ? results[0] : expected.longValue() & Case.mask(result);
          return bits == results[0] ? null : Long.toHexString(bits);
        };
    return new Case(name, body, List.of(result), types, tuples, Case.each(check));
  }

  private static BigInteger[] numbers(long[] bits, List<Type> types) {
    BigInteger[] numbers = new BigInteger[types.size()];
    for (int i = 0; i < numbers.length; i++) {
      numbers[i] = number(bits[i], types.get(i));
    }
    return numbers;
  }

  /** The instruction applied to all arguments. */
  static String plain(Sample sample, int arguments) {
    StringBuilder text = new StringBuilder(sample.text()).append(" %x0");
    for (int i = 0; i < arguments; i++) {
      text.append(", %a").append(i);
    }
    return text.append(';').toString();
  }

  private static Case of(Sample sample, Type result, List<Type> types, Numbers numbers) {
    String body = plain(sample, types.size());
    return of(sample.text(), body, result, types, Edges.tuples(types), numbers);
  }

  static List<Case> of(Sample sample) {
    Type type = sample.type();
    if (sample.has("cc") || sample.opcode().endsWith("c")) {
      return sample.opcode().equals("addc") || sample.opcode().equals("subc")
          ? List.of(carry(sample, type), mixedCarry(sample, type))
          : List.of(carry(sample, type));
    }
    if (type == Type.U16X2 || type == Type.S16X2) {
      return List.of(pairs(sample, type));
    }
    int bits = type.bits();
    List<Type> two = List.of(type, type);
    List<Type> three = List.of(type, type, type);
    boolean saturated = sample.has("sat");
    Numbers value =
        switch (sample.opcode()) {
          case "add" -> a -> a[0].add(a[1]);
          case "sub" -> a -> a[0].subtract(a[1]);
          case "mul" -> a -> product(sample, a, bits);
          case "mad" -> a -> product(sample, a, bits).add(a[2]);
          case "mul24" -> a -> product24(sample, a, type);
          case "mad24" -> a -> product24(sample, a, type).add(a[2]);
          case "sad" -> a -> a[0].subtract(a[1]).abs().add(a[2]);
          // What a division by zero gives is left open.
          case "div" -> a -> a[1].signum() == 0 ? null : a[0].divide(a[1]);
          case "rem" -> a -> a[1].signum() == 0 ? null : a[0].remainder(a[1]);
          case "min" -> a -> relu(sample, a[0].min(a[1]));
          case "max" -> a -> relu(sample, a[0].max(a[1]));
          case "abs" -> a -> a[0].abs();
          case "neg" -> a -> a[0].negate();
          case "dp4a" -> a -> dot(sample, a, 8);
          case "dp2a" -> a -> dot(sample, a, 16);
          default -> throw new IllegalStateException("no reference for " + sample.text());
        };
    return List.of(
        switch (sample.opcode()) {
          case "abs", "neg" -> of(sample, type, List.of(type), value);
          case "mul" -> of(sample, sample.has("wide") ? twice(type) : type, two, value);
          case "mad" -> {
            Type wide = sample.has("wide") ? twice(type) : type;
            Numbers clamped = saturated ? a -> clamp(value.apply(a), bits, true) : value;
            yield of(sample, wide, List.of(type, type, wide), clamped);
          }
          case "dp4a", "dp2a" -> {
            boolean signed = sample.types().stream().anyMatch(Type::isSigned);
            Type result = signed ? Type.S32 : Type.U32;
            yield of(sample, result, List.of(Type.U32, Type.U32, result), value);
          }
          case "sad", "mad24" ->
              of(sample, type, three, saturated ? a -> clamp(value.apply(a), 32, true) : value);
          default ->
              of(sample, type, two, saturated ? a -> clamp(value.apply(a), bits, true) : value);
        });
  }

  private static BigInteger relu(Sample sample, BigInteger value) {
    return sample.has("relu") ? value.max(ZERO) : value;
  }

  private static BigInteger product(Sample sample, BigInteger[] a, int bits) {
    BigInteger product = a[0].multiply(a[1]);
    return sample.has("hi") ? product.shiftRight(bits) : product;
  }

  private static BigInteger product24(Sample sample, BigInteger[] a, Type type) {
    BigInteger product = low24(a[0], type).multiply(low24(a[1], type));
    return sample.has("hi") ? product.shiftRight(16) : product;
  }

  private static BigInteger low24(BigInteger a, Type type) {
    int shifted = a.intValue() << 8;
    return BigInteger.valueOf(type.isSigned() ? shifted >> 8 : shifted >>> 8);
  }

  static Type twice(Type type) {
    return switch (type) {
      case U16 -> Type.U32;
      case S16 -> Type.S32;
      case U32 -> Type.U64;
      default -> Type.S64;
    };
  }

  private static BigInteger dot(Sample sample, BigInteger[] a, int bits) {
    List<Type> types = sample.types();
    BigInteger sum = a[2];
    for (int i = 0; i < 32 / bits; i++) {
      int at = i + (sample.has("hi") ? 2 : 0);
      BigInteger x = lane(a[0], i, bits, types.get(0).isSigned());
      sum = sum.add(x.multiply(lane(a[1], at, 8, types.get(1).isSigned())));
    }
    return sum;
  }

  static BigInteger lane(BigInteger a, int index, int bits, boolean signed) {
    BigInteger value = a.shiftRight(index * bits).mod(ONE.shiftLeft(bits));
    return signed && value.testBit(bits - 1) ? value.subtract(ONE.shiftLeft(bits)) : value;
  }

  private static Case pairs(Sample sample, Type type) {
    return of(
        sample,
        Type.B32,
        List.of(Type.B32, Type.B32),
        a -> {
          BigInteger result = ZERO;
          for (int i = 0; i < 2; i++) {
            BigInteger x = lane(a[0], i, 16, type.isSigned());
            BigInteger y = lane(a[1], i, 16, type.isSigned());
            BigInteger value =
                switch (sample.opcode()) {
                  case "add" -> x.add(y);
                  case "min" -> relu(sample, x.min(y));
                  default -> relu(sample, x.max(y));
                };
            result = result.or(value.mod(ONE.shiftLeft(16)).shiftLeft(16 * i));
          }
          return result;
        });
  }

  /** The flag of a sum read by a difference and the other way round: no borrow is a carry. */
  private static Case mixedCarry(Sample sample, Type type) {
    String t = "." + type.ptxName();
    boolean minus = sample.opcode().equals("subc");
    Type unsigned = Type.named("u" + type.bits()).orElseThrow();
    String body =
        ".reg .b%d %%q; %s%s %%q, %%a0, %%a1; %s %%x0, %%a1, %%a0;"
            .formatted(type.bits(), minus ? "add.cc" : "sub.cc", t, sample.text());
    List<Type> types = List.of(unsigned, unsigned);
    return of(
        sample.text() + " mixed",
        body,
        unsigned,
        types,
        Edges.tuples(types),
        a -> {
          if (minus) {
            BigInteger carry = a[0].add(a[1]).shiftRight(type.bits());
            return a[1].subtract(a[0]).subtract(ONE).add(carry);
          }
          BigInteger carry = a[0].compareTo(a[1]) < 0 ? ZERO : ONE;
          return a[1].add(a[0]).add(carry);
        });
  }

  /** A carry is made of two more arguments, goes through the instruction, and is read off. */
  private static Case carry(Sample sample, Type type) {
    String t = "." + type.ptxName();
    String base = sample.opcode().replaceAll("c$", "");
    boolean takes = !base.equals(sample.opcode());
    boolean minus = base.equals("sub");
    boolean product = base.equals("mad");
    String bits = "b" + type.bits();
    String first = minus ? "sub.cc" : "add.cc";
    String last = minus ? "subc" : "addc";
    String operands = product ? "%a0, %a1, %a2" : "%a0, %a1";
    String body =
        (".reg .%s %%q; %s%s %%q, %%a2, %%a3; %s %%x0, %s; %s%s %%x1, 0, 0;")
            .formatted(bits, first, t, sample.text(), operands, last, t);
    Type unsigned = Type.named("u" + type.bits()).orElseThrow();
    int n = type.bits();
    BigInteger all = ONE.shiftLeft(n);
    List<Type> types = Collections.nCopies(4, unsigned);
    Case.Check check =
        (arguments, results) -> {
          List<BigInteger> a = new ArrayList<>();
          for (long argument : arguments) {
            a.add(number(argument, unsigned));
          }
          boolean in =
              minus ? a.get(2).compareTo(a.get(3)) < 0 : a.get(2).add(a.get(3)).compareTo(all) >= 0;
          BigInteger x = a.get(0);
          BigInteger y = a.get(1);
          if (product) {
            BigInteger full = number(arguments[0], type).multiply(number(arguments[1], type));
            x = (sample.has("hi") ? full.shiftRight(n) : full).mod(all);
            y = a.get(2);
          }
          BigInteger extra = takes && in ? ONE : ZERO;
          BigInteger sum = minus ? x.subtract(y).subtract(extra) : x.add(y).add(extra);
          boolean out = minus ? sum.signum() < 0 : sum.compareTo(all) >= 0;
          boolean left = sample.has("cc") ? out : in;
          long expected = sum.longValue() & Case.mask(type);
          long carried = (left ? minus ? -1 : 1 : 0) & Case.mask(type);
          return expected == results[0] && carried == results[1]
              ? null
              : Long.toHexString(expected) + " " + Long.toHexString(carried);
        };
    List<Type> resultTypes = List.of(unsigned, unsigned);
    return new Case(sample.text(), body, resultTypes, types, Edges.tuples(types), Case.each(check));
  }
}
