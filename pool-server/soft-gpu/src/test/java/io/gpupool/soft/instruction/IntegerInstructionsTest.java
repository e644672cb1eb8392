// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.instruction;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.ptx.Type;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** Integer instructions over edge values, against numbers of any length. */
class IntegerInstructionsTest {
  private static final List<Type> ALL =
      List.of(Type.U16, Type.S16, Type.U32, Type.S32, Type.U64, Type.S64);
  private static final List<Type> NARROW = List.of(Type.U32, Type.S32);
  private static final BigInteger ZERO = BigInteger.ZERO;
  private static final BigInteger ONE = BigInteger.ONE;

  /** What an instruction gives; null where PTX leaves it open. */
  private interface Reference extends Function<BigInteger[], BigInteger> {}

  private final List<DynamicTest> tests = new ArrayList<>();

  private void test(String instruction, Type result, List<Type> args, Reference reference) {
    test(instruction, result, args, "", reference, args.stream().map(Edges::of).toList());
  }

  private void test(
      String instruction,
      Type result,
      List<Type> args,
      String suffix,
      Reference reference,
      List<List<Long>> values) {
    tests.add(
        DynamicTest.dynamicTest(
            instruction + suffix,
            () -> check(instruction, result, args, suffix, reference, Edges.tuples(values))));
  }

  private static void check(
      String instruction,
      Type result,
      List<Type> args,
      String suffix,
      Reference reference,
      List<long[]> tuples)
      throws Exception {
    long[] actual = InstructionRun.of(instruction, result, args, tuples, suffix);
    for (int i = 0; i < actual.length; i++) {
      BigInteger[] numbers = new BigInteger[args.size()];
      for (int j = 0; j < numbers.length; j++) {
        numbers[j] = number(tuples.get(i)[j], args.get(j));
      }
      BigInteger expected = reference.apply(numbers);
      if (expected != null && bits(expected, result) != actual[i]) {
        // Texts are made only where they are needed: there are millions of comparisons.
        assertThat(Long.toHexString(actual[i]))
            .as("%s%s of %s", instruction, suffix, Arrays.toString(numbers))
            .isEqualTo(Long.toHexString(bits(expected, result)));
      }
    }
  }

  private static BigInteger number(long bits, Type type) {
    int unused = 64 - type.bits();
    if (type.isSigned()) {
      return BigInteger.valueOf(bits << unused >> unused);
    }
    return new BigInteger(Long.toUnsignedString(bits << unused >>> unused));
  }

  private static long bits(BigInteger number, Type type) {
    return type.bits() == 64 ? number.longValue() : number.longValue() & (1L << type.bits()) - 1;
  }

  private static BigInteger clamp(BigInteger number, Type type) {
    BigInteger max = ONE.shiftLeft(type.isSigned() ? type.bits() - 1 : type.bits()).subtract(ONE);
    BigInteger min = type.isSigned() ? max.negate().subtract(ONE) : ZERO;
    return number.max(min).min(max);
  }

  private static Type twice(Type type) {
    return switch (type) {
      case U16 -> Type.U32;
      case S16 -> Type.S32;
      case U32 -> Type.U64;
      default -> Type.S64;
    };
  }

  private static Type bitType(Type type) {
    return Type.named("b" + type.bits()).orElseThrow();
  }

  @TestFactory
  Stream<DynamicTest> arithmetic_edgeValues_isExact() {
    for (Type type : ALL) {
      String t = "." + type.ptxName();
      List<Type> two = List.of(type, type);
      List<Type> three = List.of(type, type, type);
      int n = type.bits();
      test("add" + t, type, two, a -> a[0].add(a[1]));
      test("sub" + t, type, two, a -> a[0].subtract(a[1]));
      test("mul.lo" + t, type, two, a -> a[0].multiply(a[1]));
      test("mul.hi" + t, type, two, a -> a[0].multiply(a[1]).shiftRight(n));
      test("mad.lo" + t, type, three, a -> a[0].multiply(a[1]).add(a[2]));
      test("mad.hi" + t, type, three, a -> a[0].multiply(a[1]).shiftRight(n).add(a[2]));
      test("div" + t, type, two, a -> a[1].signum() == 0 ? null : a[0].divide(a[1]));
      test("rem" + t, type, two, a -> a[1].signum() == 0 ? null : a[0].remainder(a[1]));
      test("min" + t, type, two, a -> a[0].min(a[1]));
      test("max" + t, type, two, a -> a[0].max(a[1]));
      test("sad" + t, type, three, a -> a[0].subtract(a[1]).abs().add(a[2]));
      if (type.isSigned()) {
        test("abs" + t, type, List.of(type), a -> a[0].abs());
        test("neg" + t, type, List.of(type), a -> a[0].negate());
      }
      if (n < 64) {
        Type wide = twice(type);
        test("mul.wide" + t, wide, two, a -> a[0].multiply(a[1]));
        test("mad.wide" + t, wide, List.of(type, type, wide), a -> a[0].multiply(a[1]).add(a[2]));
      }
    }
    List<Type> two = List.of(Type.S32, Type.S32);
    test("add.sat.s32", Type.S32, two, a -> clamp(a[0].add(a[1]), Type.S32));
    test("sub.sat.s32", Type.S32, two, a -> clamp(a[0].subtract(a[1]), Type.S32));
    test(
        "mad.hi.sat.s32",
        Type.S32,
        List.of(Type.S32, Type.S32, Type.S32),
        a -> clamp(a[0].multiply(a[1]).shiftRight(32).add(a[2]), Type.S32));
    return tests.stream();
  }

  @TestFactory
  Stream<DynamicTest> multiplication24_edgeValues_usesLowBits() {
    for (Type type : NARROW) {
      String t = "." + type.ptxName();
      List<Type> two = List.of(type, type);
      List<Type> three = List.of(type, type, type);
      test("mul24.lo" + t, type, two, a -> low24(a[0], type).multiply(low24(a[1], type)));
      test(
          "mul24.hi" + t,
          type,
          two,
          a -> low24(a[0], type).multiply(low24(a[1], type)).shiftRight(16));
      test(
          "mad24.lo" + t,
          type,
          three,
          a -> low24(a[0], type).multiply(low24(a[1], type)).add(a[2]));
      test(
          "mad24.hi" + t,
          type,
          three,
          a -> low24(a[0], type).multiply(low24(a[1], type)).shiftRight(16).add(a[2]));
    }
    return tests.stream();
  }

  private static BigInteger low24(BigInteger a, Type type) {
    int shifted = a.intValue() << 8;
    return BigInteger.valueOf(type.isSigned() ? shifted >> 8 : shifted >>> 8);
  }

  @TestFactory
  Stream<DynamicTest> carryChains_edgeValues_passTheCarryOn() {
    for (Type type : ALL.subList(2, 6)) {
      String t = "." + type.ptxName();
      String b = "." + bitType(type).ptxName();
      Type unsigned = Type.named("u" + type.bits()).orElseThrow();
      List<Type> two = List.of(unsigned, unsigned);
      List<Type> three = List.of(unsigned, unsigned, unsigned);
      int n = type.bits();
      String scratch = ".reg " + b + " %q; ";
      test(
          scratch + "add.cc" + t + " %q, %a0, %a1; addc" + t + " %x, %a0, %a1",
          unsigned,
          two,
          a -> a[0].add(a[1]).add(a[0].add(a[1]).shiftRight(n)));
      test(
          scratch + "sub.cc" + t + " %q, %a0, %a1; subc" + t + " %x, %a1, %a0",
          unsigned,
          two,
          a -> a[1].subtract(a[0]).subtract(a[0].compareTo(a[1]) < 0 ? ONE : ZERO));
      // The flag is a carry, set where nothing is borrowed, as sums and differences mixed show.
      test(
          scratch + "sub.cc" + t + " %q, %a0, %a1; addc" + t + " %x, 0, 0",
          unsigned,
          two,
          a -> a[0].compareTo(a[1]) < 0 ? ZERO : ONE);
      test(
          scratch + "add.cc" + t + " %q, %a0, %a1; subc" + t + " %x, %a1, %a0",
          unsigned,
          two,
          a -> a[1].subtract(a[0]).subtract(ONE).add(a[0].add(a[1]).shiftRight(n)));
      test(
          scratch
              + ("sub.cc" + t + " %q, %a0, %a1; subc.cc" + t + " %q, %a1, %a2; ")
              + ("subc" + t + " %x, 0, 0"),
          unsigned,
          three,
          a -> {
            BigInteger borrowed = a[0].compareTo(a[1]) < 0 ? ONE : ZERO;
            return a[1].subtract(borrowed).compareTo(a[2]) < 0 ? ONE.negate() : ZERO;
          });
      test(
          scratch
              + ("add.cc" + t + " %q, %a0, %a1; addc.cc" + t + " %q, %a1, %a2; ")
              + ("addc" + t + " %x, 0, 0"),
          unsigned,
          three,
          a -> a[1].add(a[2]).add(a[0].add(a[1]).shiftRight(n)).shiftRight(n));
      test(
          scratch + "mad.lo.cc" + t + " %q, %a0, %a1, %a2; madc.hi" + t + " %x, %a0, %a1, %a2",
          unsigned,
          three,
          a -> {
            BigInteger product =
                number(a[0].longValue(), type).multiply(number(a[1].longValue(), type));
            BigInteger low = product.mod(ONE.shiftLeft(n));
            return product.shiftRight(n).add(a[2]).add(low.add(a[2]).shiftRight(n));
          });
    }
    return tests.stream();
  }

  @TestFactory
  Stream<DynamicTest> logicAndShifts_allAmounts_areExact() {
    for (Type type : List.of(Type.B16, Type.B32, Type.B64)) {
      String t = "." + type.ptxName();
      List<Type> two = List.of(type, type);
      int n = type.bits();
      test("and" + t, type, two, a -> a[0].and(a[1]));
      test("or" + t, type, two, a -> a[0].or(a[1]));
      test("xor" + t, type, two, a -> a[0].xor(a[1]));
      test("not" + t, type, List.of(type), a -> a[0].not());
      test("cnot" + t, type, List.of(type), a -> a[0].signum() == 0 ? ONE : ZERO);
      test(
          "shl" + t,
          type,
          List.of(type, Type.U32),
          "",
          a -> a[0].shiftLeft(amount(a[1], n)),
          List.of(Edges.of(type), Edges.amounts()));
    }
    for (Type type : ALL) {
      test(
          "shr." + type.ptxName(),
          type,
          List.of(type, Type.U32),
          "",
          a -> a[0].shiftRight(amount(a[1], type.bits())),
          List.of(Edges.of(type), Edges.amounts()));
    }
    List<List<Long>> values = List.of(Edges.of(Type.U32), Edges.of(Type.U32), Edges.amounts());
    List<Type> three = List.of(Type.U32, Type.U32, Type.U32);
    for (String mode : List.of("wrap", "clamp")) {
      test(
          "shf.l." + mode + ".b32",
          Type.U32,
          three,
          "",
          a -> join(a).shiftLeft(funnel(a[2], mode)).shiftRight(32),
          values);
      test(
          "shf.r." + mode + ".b32",
          Type.U32,
          three,
          "",
          a -> join(a).shiftRight(funnel(a[2], mode)),
          values);
    }
    return tests.stream();
  }

  private static int amount(BigInteger amount, int most) {
    return amount.min(BigInteger.valueOf(most)).intValue();
  }

  private static BigInteger join(BigInteger[] a) {
    return a[1].shiftLeft(32).or(a[0]);
  }

  private static int funnel(BigInteger amount, String mode) {
    return mode.equals("wrap") ? amount.intValue() & 31 : amount(amount, 32);
  }

  @TestFactory
  Stream<DynamicTest> bitFields_allPlacesAndLengths_areExact() {
    List<Long> places = Edges.amounts();
    for (Type type : ALL.subList(2, 6)) {
      int n = type.bits();
      test(
          "bfe." + type.ptxName(),
          type,
          List.of(type, Type.U32, Type.U32),
          "",
          a -> extracted(a[0], a[1].intValue() & 255, a[2].intValue() & 255, type),
          List.of(Edges.of(type).subList(0, 24), places, places));
      test(
          "bfind." + type.ptxName(),
          Type.U32,
          List.of(type),
          a -> BigInteger.valueOf(top(a[0], type)));
      test(
          "bfind.shiftamt." + type.ptxName(),
          Type.U32,
          List.of(type),
          a -> BigInteger.valueOf(top(a[0], type) < 0 ? -1 : n - 1 - top(a[0], type)));
    }
    for (Type type : List.of(Type.B32, Type.B64)) {
      String t = "." + type.ptxName();
      int n = type.bits();
      test(
          "bfi" + t,
          type,
          List.of(type, type, Type.U32, Type.U32),
          "",
          a -> {
            BigInteger result = a[1];
            int from = a[2].intValue() & 255;
            for (int i = 0; i < (a[3].intValue() & 255) && from + i < n; i++) {
              boolean bit = a[0].testBit(i);
              result = bit ? result.setBit(from + i) : result.clearBit(from + i);
            }
            return result;
          },
          List.of(Edges.of(type).subList(8, 24), Edges.of(type).subList(8, 24), places, places));
      test("popc" + t, Type.U32, List.of(type), a -> BigInteger.valueOf(a[0].bitCount()));
      test("clz" + t, Type.U32, List.of(type), a -> BigInteger.valueOf(n - a[0].bitLength()));
      test("brev" + t, type, List.of(type), a -> reversed(a[0], n));
    }
    List<Type> two = List.of(Type.U32, Type.U32);
    test(
        "bmsk.clamp.b32",
        Type.U32,
        two,
        "",
        a -> mask(amount(a[0], 32), amount(a[1], 32)),
        List.of(places, places));
    test(
        "bmsk.wrap.b32",
        Type.U32,
        two,
        "",
        a -> mask(a[0].intValue() & 31, a[1].intValue() & 31),
        List.of(places, places));
    for (Type type : NARROW) {
      for (String mode : List.of("clamp", "wrap")) {
        test(
            "szext." + mode + "." + type.ptxName(),
            type,
            List.of(type, Type.U32),
            "",
            a -> {
              int bits = mode.equals("wrap") ? a[1].intValue() & 31 : amount(a[1], 32);
              return extracted(a[0], 0, bits, type);
            },
            List.of(Edges.of(type), places));
      }
    }
    return tests.stream();
  }

  private static BigInteger mask(int from, int length) {
    return ONE.shiftLeft(length).subtract(ONE).shiftLeft(from);
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

  private static int top(BigInteger a, Type type) {
    return (a.signum() < 0 ? a.not() : a).bitLength() - 1;
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

  @TestFactory
  Stream<DynamicTest> permutations_allModes_areExact() {
    List<Type> three = List.of(Type.U32, Type.U32, Type.U32);
    List<Long> selectors = new ArrayList<>(Edges.of(Type.U32));
    selectors.addAll(List.of(0x3210L, 0x7654L, 0x0123L, 0xFEDCL, 0xBA98L, 0x8888L, 0x5140L));
    List<List<Long>> values =
        List.of(Edges.of(Type.U32).subList(20, 50), Edges.of(Type.U32).subList(20, 50), selectors);
    test("prmt.b32", Type.U32, three, "", a -> permuted(a, a[2].intValue()), values);
    String[] modes = {"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"};
    int[][] tables = {
      {0x3210, 0x4321, 0x5432, 0x6543},
      {0x5670, 0x6701, 0x7012, 0x0123},
      {0x0000, 0x1111, 0x2222, 0x3333},
      {0x3210, 0x3211, 0x3222, 0x3333},
      {0x0000, 0x1110, 0x2210, 0x3210},
      {0x1010, 0x3232, 0x1010, 0x3232}
    };
    for (int i = 0; i < modes.length; i++) {
      int[] table = tables[i];
      test(
          "prmt.b32." + modes[i],
          Type.U32,
          three,
          "",
          a -> permuted(a, table[a[2].intValue() & 3]),
          values);
    }
    for (int table : new int[] {0, 0x96, 0x80, 0xFE, 0xEA, 0x1B, 0xCA, 0x3C, 0xE8, 0xFF, 0x0F}) {
      test(
          "lop3.b32",
          Type.U32,
          three,
          ", " + table,
          a -> looked(a, table),
          List.of(Edges.of(Type.U32), Edges.of(Type.U32), Edges.of(Type.U32)));
    }
    test(
        ".reg .pred %pq; .reg .b32 %d; setp.ne.u32 %pq, %a2, 7; "
            + "lop3.and.b32 %d|%pq, %a0, %a1, %a2, 0x96, %pq; selp.b32 %x, %d, 77, %pq",
        Type.U32,
        three,
        a -> {
          BigInteger xor = a[0].xor(a[1]).xor(a[2]);
          boolean taken = xor.signum() != 0 && !a[2].equals(BigInteger.valueOf(7));
          return taken ? xor : BigInteger.valueOf(77);
        });
    test(
        "fns.b32",
        Type.U32,
        List.of(Type.U32, Type.U32, Type.S32),
        "",
        IntegerInstructionsTest::nthSet,
        List.of(
            Edges.of(Type.U32),
            Edges.amounts().subList(0, 32),
            List.of(0L, 1L, 2L, 5L, 0xFFFF_FFFFL, 0xFFFF_FFFEL, 0xFFFF_FFF0L)));
    return tests.stream();
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

  private static BigInteger nthSet(BigInteger[] a) {
    int base = a[1].intValue();
    int offset = a[2].intValue();
    if (offset == 0) {
      return a[0].testBit(base) ? a[1] : BigInteger.valueOf(-1);
    }
    int left = Math.abs(offset);
    for (int bit = base; bit >= 0 && bit < 32; bit += Integer.signum(offset)) {
      if (a[0].testBit(bit) && --left == 0) {
        return BigInteger.valueOf(bit);
      }
    }
    return BigInteger.valueOf(-1);
  }

  @TestFactory
  Stream<DynamicTest> dotProducts_edgeValues_areExact() {
    for (Type first : NARROW) {
      for (Type second : NARROW) {
        String t = "." + first.ptxName() + "." + second.ptxName();
        Type result = first.isSigned() || second.isSigned() ? Type.S32 : Type.U32;
        List<Type> three = List.of(Type.U32, Type.U32, result);
        test("dp4a" + t, result, three, a -> dot(a, 8, 0, first, second));
        test("dp2a.lo" + t, result, three, a -> dot(a, 16, 0, first, second));
        test("dp2a.hi" + t, result, three, a -> dot(a, 16, 2, first, second));
      }
    }
    return tests.stream();
  }

  private static BigInteger dot(BigInteger[] a, int bits, int from, Type first, Type second) {
    BigInteger sum = a[2];
    for (int i = 0; i < 32 / bits; i++) {
      BigInteger x = lane(a[0], i, bits, first.isSigned());
      BigInteger y = lane(a[1], i + from, 8, second.isSigned());
      sum = sum.add(x.multiply(y));
    }
    return sum;
  }

  private static BigInteger lane(BigInteger a, int index, int bits, boolean signed) {
    BigInteger value = a.shiftRight(index * bits).mod(ONE.shiftLeft(bits));
    return signed && value.testBit(bits - 1) ? value.subtract(ONE.shiftLeft(bits)) : value;
  }

  @TestFactory
  Stream<DynamicTest> comparisons_edgeValues_areExact() {
    for (Type type : ALL) {
      List<Type> two = List.of(type, type);
      for (String comparison : List.of("eq", "ne", "lt", "le", "gt", "ge")) {
        String name = "." + comparison + "." + type.ptxName();
        test("setp" + name, Type.PRED, two, a -> holds(comparison, a) ? ONE : ZERO);
        test(
            "set." + comparison + ".u32." + type.ptxName(),
            Type.U32,
            two,
            a -> holds(comparison, a) ? ONE.negate() : ZERO);
      }
      test(
          "slct." + type.ptxName() + ".s32",
          type,
          List.of(type, type, Type.S32),
          a -> a[2].signum() >= 0 ? a[0] : a[1]);
    }
    for (Type type : List.of(Type.U32, Type.U64)) {
      for (String comparison : List.of("lo", "ls", "hi", "hs")) {
        test(
            "setp." + comparison + "." + type.ptxName(),
            Type.PRED,
            List.of(type, type),
            a -> holds(comparison.replace('o', 't').replace("ls", "le"), a) ? ONE : ZERO);
      }
    }
    return tests.stream();
  }

  private static boolean holds(String comparison, BigInteger[] a) {
    int order = a[0].compareTo(a[1]);
    return switch (comparison) {
      case "eq" -> order == 0;
      case "ne" -> order != 0;
      case "lt" -> order < 0;
      case "le" -> order <= 0;
      case "gt", "hi" -> order > 0;
      default -> order >= 0;
    };
  }

  @TestFactory
  Stream<DynamicTest> conversions_betweenIntegers_wrapOrClamp() {
    List<Type> types =
        List.of(Type.U8, Type.S8, Type.U16, Type.S16, Type.U32, Type.S32, Type.U64, Type.S64);
    for (Type from : types) {
      for (Type to : types) {
        String name = to.ptxName() + "." + from.ptxName();
        // A result that is narrower than its register is extended as its type says.
        Type kept = to.bits() == 8 ? (to.isSigned() ? Type.S16 : Type.U16) : to;
        test("cvt." + name, kept, List.of(from), a -> number(bits(a[0], to), to));
        test("cvt.sat." + name, kept, List.of(from), a -> clamp(a[0], to));
      }
    }
    return tests.stream();
  }
}
