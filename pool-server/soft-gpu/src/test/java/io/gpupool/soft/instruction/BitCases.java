// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.instruction;

import io.gpupool.soft.ptx.Type;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;

/** Logic, shifts, bit fields and permutations, bit by bit. */
final class BitCases {
  private static final BigInteger ZERO = BigInteger.ZERO;
  private static final BigInteger ONE = BigInteger.ONE;
  private static final BigInteger ABSENT = BigInteger.valueOf(-1);

  private static final List<String> PERMUTATIONS =
      List.of("f4e", "b4e", "rc8", "ecl", "ecr", "rc16");
  private static final int[][] TABLES = {
    {0x3210, 0x4321, 0x5432, 0x6543},
    {0x5670, 0x6701, 0x7012, 0x0123},
    {0x0000, 0x1111, 0x2222, 0x3333},
    {0x3210, 0x3211, 0x3222, 0x3333},
    {0x0000, 0x1110, 0x2210, 0x3210},
    {0x1010, 0x3232, 0x1010, 0x3232}
  };

  private BitCases() {}

  static List<Case> of(Sample sample) {
    Type type = sample.type();
    int n = type.bits();
    List<Long> places = Edges.amounts();
    List<Long> some = Edges.of(type);
    return switch (sample.opcode()) {
      case "and" -> logic(sample, type, 2, a -> a[0].and(a[1]));
      case "or" -> logic(sample, type, 2, a -> a[0].or(a[1]));
      case "xor" -> logic(sample, type, 2, a -> a[0].xor(a[1]));
      case "not" -> logic(sample, type, 1, a -> a[0].not());
      case "cnot" -> logic(sample, type, 1, a -> a[0].signum() == 0 ? ONE : ZERO);
      case "shl" -> shift(sample, type, a -> a[0].shiftLeft(amount(a[1], n)));
      case "shr" -> shift(sample, type, a -> a[0].shiftRight(amount(a[1], n)));
      case "shf" -> funnel(sample);
      case "bfe" ->
          plain(
              sample,
              type,
              List.of(type, Type.U32, Type.U32),
              List.of(some, places, places),
              a -> extracted(a[0], a[1].intValue() & 255, a[2].intValue() & 255, type));
      case "bfi" ->
          plain(
              sample,
              type,
              List.of(type, type, Type.U32, Type.U32),
              List.of(some, some, places, places),
              a -> inserted(a, n));
      case "bfind" ->
          plain(
              sample,
              Type.U32,
              List.of(type),
              List.of(some),
              a -> {
                int top = (a[0].signum() < 0 ? a[0].not() : a[0]).bitLength() - 1;
                boolean shift = sample.has("shiftamt");
                return BigInteger.valueOf(top < 0 || !shift ? top : n - 1 - top);
              });
      case "brev" -> logic(sample, type, 1, a -> reversed(a[0], n));
      case "popc" -> count(sample, type, a -> BigInteger.valueOf(a[0].bitCount()));
      case "clz" -> count(sample, type, a -> BigInteger.valueOf(n - a[0].bitLength()));
      case "fns" -> findNth(sample);
      case "bmsk" ->
          plain(
              sample,
              Type.U32,
              List.of(Type.U32, Type.U32),
              List.of(places, places),
              a -> mask(limited(sample, a[0]), limited(sample, a[1])));
      case "szext" ->
          plain(
              sample,
              type,
              List.of(type, Type.U32),
              List.of(some, places),
              a -> extracted(a[0], 0, limited(sample, a[1]), type));
      case "prmt" -> permutation(sample);
      case "lop3" -> lookUp(sample);
      default -> throw new IllegalStateException("no reference for " + sample.text());
    };
  }

  private static List<Case> plain(
      Sample sample,
      Type result,
      List<Type> types,
      List<List<Long>> values,
      IntegerCases.Numbers numbers) {
    String key = types + " " + values.stream().map(List::size).toList();
    String body = IntegerCases.plain(sample, types.size());
    return List.of(
        IntegerCases.of(sample.text(), body, result, types, Edges.tuples(key, values), numbers));
  }

  private static List<Case> logic(
      Sample sample, Type type, int arguments, IntegerCases.Numbers numbers) {
    if (type != Type.PRED) {
      List<Type> types = List.of(type, type).subList(0, arguments);
      return plain(sample, type, types, types.stream().map(Edges::of).toList(), numbers);
    }
    List<Type> types = List.of(Type.U32, Type.U32).subList(0, arguments);
    String body =
        ".reg .pred %p0, %p1; setp.ne.u32 %p0, %a0, 0; "
            + (arguments == 2
                ? "setp.ne.u32 %p1, %a1, 0; " + sample.text() + " %x0, %p0, %p1;"
                : sample.text() + " %x0, %p0;");
    List<List<Long>> values = List.of(List.of(0L, 1L), List.of(0L, 1L)).subList(0, arguments);
    List<long[]> tuples = Edges.tuples("predicates" + arguments, values);
    return List.of(IntegerCases.of(sample.text(), body, type, types, tuples, numbers));
  }

  private static List<Case> count(Sample sample, Type type, IntegerCases.Numbers numbers) {
    return plain(sample, Type.U32, List.of(type), List.of(Edges.of(type)), numbers);
  }

  /** Amounts in a register and as a constant, which the compiler treats apart. */
  private static List<Case> shift(Sample sample, Type type, IntegerCases.Numbers numbers) {
    List<Type> types = List.of(type, Type.U32);
    List<Case> cases =
        new ArrayList<>(
            plain(sample, type, types, List.of(Edges.of(type), Edges.amounts()), numbers));
    for (long amount : new long[] {0, 1, 7, 15, 16, 31, 32, 33, 63, 64, 0x8000_0000L}) {
      String body = sample.text() + " %x0, %a0, " + amount + ";";
      IntegerCases.Numbers fixed =
          a -> numbers.apply(new BigInteger[] {a[0], BigInteger.valueOf(amount)});
      List<long[]> tuples = Edges.tuples(List.of(type));
      cases.add(IntegerCases.of(body, body, type, List.of(type), tuples, fixed));
    }
    return cases;
  }

  private static int amount(BigInteger amount, int most) {
    return amount.min(BigInteger.valueOf(most)).intValue();
  }

  private static int limited(Sample sample, BigInteger amount) {
    return sample.has("wrap") ? amount.intValue() & 31 : amount(amount, 32);
  }

  private static List<Case> funnel(Sample sample) {
    return plain(
        sample,
        Type.U32,
        List.of(Type.U32, Type.U32, Type.U32),
        List.of(Edges.of(Type.U32), Edges.of(Type.U32), Edges.amounts()),
        a -> {
          BigInteger both = a[1].shiftLeft(32).or(a[0]);
          int by = limited(sample, a[2]);
          return sample.has("l") ? both.shiftLeft(by).shiftRight(32) : both.shiftRight(by);
        });
  }

  private static BigInteger inserted(BigInteger[] a, int bits) {
    BigInteger result = a[1];
    int from = a[2].intValue() & 255;
    for (int i = 0; i < (a[3].intValue() & 255) && from + i < bits; i++) {
      result = a[0].testBit(i) ? result.setBit(from + i) : result.clearBit(from + i);
    }
    return result;
  }

  private static BigInteger extracted(BigInteger a, int from, int length, Type type) {
    if (length == 0) {
      return ZERO;
    }
    BigInteger result = ZERO;
    int last = Math.min(from + length - 1, type.bits() - 1);
    boolean sign = type.isSigned() && a.testBit(last);
    for (int i = 0; i < type.bits(); i++) {
      boolean inside = i < length && from + i < type.bits();
      if (inside ? a.testBit(from + i) : sign) {
        result = result.setBit(i);
      }
    }
    return result;
  }

  private static BigInteger mask(int from, int length) {
    return ONE.shiftLeft(length).subtract(ONE).shiftLeft(from);
  }

  private static BigInteger reversed(BigInteger a, int bits) {
    BigInteger result = ZERO;
    for (int i = 0; i < bits; i++) {
      if (a.testBit(i)) {
        result = result.setBit(bits - 1 - i);
      }
    }
    return result;
  }

  private static List<Case> findNth(Sample sample) {
    return plain(
        sample,
        Type.U32,
        List.of(Type.U32, Type.U32, Type.S32),
        List.of(
            Edges.of(Type.U32),
            Edges.amounts().subList(0, 32),
            List.of(0L, 1L, 2L, 5L, 0xFFFF_FFFFL, 0xFFFF_FFFEL, 0xFFFF_FFF0L)),
        BitCases::nthSet);
  }

  private static BigInteger nthSet(BigInteger[] a) {
    int base = a[1].intValue();
    int offset = a[2].intValue();
    if (offset == 0) {
      return a[0].testBit(base) ? a[1] : ABSENT;
    }
    int left = Math.abs(offset);
    for (int bit = base; bit >= 0 && bit < 32; bit += Integer.signum(offset)) {
      if (a[0].testBit(bit) && --left == 0) {
        return BigInteger.valueOf(bit);
      }
    }
    return ABSENT;
  }

  private static List<Case> permutation(Sample sample) {
    List<Long> selectors = new ArrayList<>(Edges.of(Type.U32));
    selectors.addAll(List.of(0x3210L, 0x7654L, 0x0123L, 0xFEDCL, 0xBA98L, 0x8888L, 0x5140L));
    int mode = PERMUTATIONS.indexOf(sample.oneOf(PERMUTATIONS, ""));
    return plain(
        sample,
        Type.U32,
        List.of(Type.U32, Type.U32, Type.U32),
        List.of(Edges.of(Type.U32).subList(20, 50), Edges.of(Type.U32).subList(20, 50), selectors),
        a -> permuted(a, mode < 0 ? a[2].intValue() : TABLES[mode][a[2].intValue() & 3]));
  }

  private static BigInteger permuted(BigInteger[] a, int selector) {
    BigInteger bytes = a[1].shiftLeft(32).or(a[0]);
    BigInteger result = ZERO;
    for (int i = 0; i < 4; i++) {
      int control = selector >> 4 * i & 15;
      int value = bytes.shiftRight(8 * (control & 7)).intValue() & 255;
      if (control > 7) {
        value = value > 127 ? 255 : 0;
      }
      result = result.or(BigInteger.valueOf(value).shiftLeft(8 * i));
    }
    return result;
  }

  /** Every table there is. */
  private static List<Case> lookUp(Sample sample) {
    // Each combination of three bits stands in these, and in every order of the arguments.
    List<long[]> tuples =
        Edges.tuples(
            "look up",
            List.of(
                List.of(0xF0F0_F0F0L, 0xDEAD_BEEFL),
                List.of(0xCCCC_CCCCL, 0x0123_4567L),
                List.of(0xAAAA_AAAAL, 0x8000_FFFFL, 0L)));
    List<Type> types = List.of(Type.U32, Type.U32, Type.U32);
    String combination = sample.oneOf(List.of("and", "or"), "");
    List<Case> cases = new ArrayList<>();
    // With a predicate the same code looks up, so that some tables do.
    for (int table = 0; table < 256; table += combination.isEmpty() ? 1 : 17) {
      int t = table;
      String name = sample.text() + " " + table;
      if (combination.isEmpty()) {
        String body = sample.text() + " %x0, %a0, %a1, %a2, " + table + ";";
        cases.add(IntegerCases.of(name, body, Type.U32, types, tuples, a -> looked(a, t)));
      } else {
        String body =
            ".reg .pred %q, %r; .reg .b32 %d; setp.eq.u32 %q, %a2, 0; "
                + sample.text()
                + " %d|%r, %a0, %a1, %a2, "
                + table
                + ", %q; selp.b32 %x0, %d, 77, %r;";
        cases.add(
            IntegerCases.of(
                name,
                body,
                Type.U32,
                types,
                tuples,
                a -> {
                  boolean zero = a[2].signum() == 0;
                  boolean any = looked(a, t).signum() != 0;
                  boolean taken = combination.equals("and") ? any && zero : any || zero;
                  return taken ? looked(a, t) : BigInteger.valueOf(77);
                }));
      }
    }
    return cases;
  }

  private static BigInteger looked(BigInteger[] a, int table) {
    BigInteger result = ZERO;
    for (int i = 0; i < 32; i++) {
      int row = (a[0].testBit(i) ? 4 : 0) + (a[1].testBit(i) ? 2 : 0) + (a[2].testBit(i) ? 1 : 0);
      if ((table >> row & 1) == 1) {
        result = result.setBit(i);
      }
    }
    return result;
  }
}
