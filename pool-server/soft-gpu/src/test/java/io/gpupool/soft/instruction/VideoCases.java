// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.instruction;

import io.gpupool.soft.ptx.Type;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;

/** Video instructions, scalar and packed, worked out step by step as the PTX ISA has them. */
final class VideoCases {
  private static final BigInteger ONE = BigInteger.ONE;
  private static final List<Type> THREE = List.of(Type.B32, Type.B32, Type.B32);
  private static final List<String> SECOND = List.of("add", "min", "max");

  private VideoCases() {}

  static List<Case> of(Sample sample) {
    int lanes = sample.opcode().charAt(sample.opcode().length() - 1) - '0';
    List<Case> cases = new ArrayList<>();
    if (lanes == 2 || lanes == 4) {
      String letter = lanes == 4 ? "b" : "h";
      cases.add(packed(sample, lanes, "", "", ""));
      boolean four = lanes == 4;
      cases.add(
          packed(
              sample,
              lanes,
              letter + (four ? "310" : "1"),
              letter + (four ? "7052" : "31"),
              letter + (four ? "4416" : "20")));
    } else if (sample.opcode().equals("vmad")) {
      cases.add(multiplyAdd(sample, "", ""));
      cases.add(multiplyAdd(sample, "b1", "h1"));
    } else {
      boolean second = !sample.oneOf(SECOND, "").isEmpty();
      cases.add(scalar(sample, "", "", "", second));
      cases.add(scalar(sample, "", "h1", "b3", second));
      cases.add(scalar(sample, "", "b0", "h0", second));
      if (!second) {
        // Signed and unsigned types between them have them all.
        List<String> parts =
            signedResult(sample) ? List.of("b0", "b3", "h1") : List.of("b1", "b2", "h0");
        for (String to : parts) {
          cases.add(scalar(sample, to, to.equals("h0") ? "" : "b2", "", true));
        }
      }
    }
    return cases;
  }

  private static Case of(String name, String body, IntegerCases.Numbers numbers) {
    return IntegerCases.of(name, body, Type.B32, THREE, Edges.tuples(THREE), numbers);
  }

  private static String dotted(String register, String selector) {
    return selector.isEmpty() ? register : register + "." + selector;
  }

  private static BigInteger part(BigInteger a, String selector, boolean signed) {
    int bits = selector.isEmpty() ? 32 : selector.charAt(0) == 'b' ? 8 : 16;
    int index = selector.isEmpty() ? 0 : selector.charAt(1) - '0';
    return IntegerCases.lane(a, index, bits, signed);
  }

  /** Whether an operand's type is signed; a comparison names none for its result. */
  private static boolean signed(Sample sample, int operand) {
    int index = sample.opcode().startsWith("vset") ? operand : operand + 1;
    return sample.types().get(index).isSigned();
  }

  private static boolean signedResult(Sample sample) {
    return !sample.opcode().startsWith("vset") && sample.types().getFirst().isSigned();
  }

  private static BigInteger combine(Sample sample, BigInteger a, BigInteger b) {
    return switch (sample.opcode().replaceAll("[24]$", "")) {
      case "vadd" -> a.add(b);
      case "vsub" -> a.subtract(b);
      case "vabsdiff" -> a.subtract(b).abs();
      case "vmin" -> a.min(b);
      case "vmax" -> a.max(b);
      case "vshl" -> a.shiftLeft(amount(sample, b));
      case "vshr" -> a.shiftRight(amount(sample, b));
      case "vavrg" -> {
        BigInteger sum = a.add(b);
        yield (sum.signum() >= 0 ? sum.add(ONE) : sum).shiftRight(1);
      }
      default -> {
        int order = a.compareTo(b);
        boolean holds =
            switch (sample.oneOf(List.of("eq", "ne", "lt", "le", "gt", "ge"), "")) {
              case "eq" -> order == 0;
              case "ne" -> order != 0;
              case "lt" -> order < 0;
              case "le" -> order <= 0;
              case "gt" -> order > 0;
              default -> order >= 0;
            };
        yield holds ? ONE : BigInteger.ZERO;
      }
    };
  }

  private static int amount(Sample sample, BigInteger b) {
    return sample.has("wrap") ? b.intValue() & 31 : b.min(BigInteger.valueOf(32)).intValue();
  }

  private static Case scalar(
      Sample sample, String to, String selectA, String selectB, boolean third) {
    String body =
        "%s %s, %s, %s%s;"
            .formatted(
                sample.text(),
                dotted("%x0", to),
                dotted("%a0", selectA),
                dotted("%a1", selectB),
                third ? ", %a2" : "");
    int bits = to.isEmpty() ? 32 : to.charAt(0) == 'b' ? 8 : 16;
    boolean signed = signedResult(sample);
    return of(
        body,
        body,
        a -> {
          boolean signedB = !sample.opcode().startsWith("vsh") && signed(sample, 1);
          BigInteger value =
              combine(sample, part(a[0], selectA, signed(sample, 0)), part(a[1], selectB, signedB));
          if (sample.has("sat")) {
            value = IntegerCases.clamp(value, bits, signed);
          }
          BigInteger c = IntegerCases.lane(a[2], 0, 32, signed);
          switch (sample.oneOf(SECOND, "")) {
            case "add":
              return value.add(c);
            case "min", "max":
              if (!value.equals(IntegerCases.lane(value, 0, 32, signed))) {
                // A value that does not fit its type is not said to compare in any way.
                return null;
              }
              return sample.has("min") ? value.min(c) : value.max(c);
            default:
              return merged(value, bits, to, a[2]);
          }
        });
  }

  private static BigInteger merged(BigInteger value, int bits, String to, BigInteger c) {
    if (to.isEmpty()) {
      return value;
    }
    int shift = bits * (to.charAt(1) - '0');
    BigInteger mask = ONE.shiftLeft(bits).subtract(ONE);
    return c.andNot(mask.shiftLeft(shift)).or(value.and(mask).shiftLeft(shift));
  }

  private static Case multiplyAdd(Sample sample, String selectA, String selectB) {
    String body =
        "%s %%x0, %s, %s, %%a2;"
            .formatted(sample.text(), dotted("%a0", selectA), dotted("%a1", selectB));
    boolean signed = signed(sample, 0) || signed(sample, 1);
    return of(
        body,
        body,
        a -> {
          BigInteger product =
              part(a[0], selectA, signed(sample, 0))
                  .multiply(part(a[1], selectB, signed(sample, 1)));
          BigInteger sum = product.add(IntegerCases.lane(a[2], 0, 32, signed));
          if (sample.has("po")) {
            sum = sum.add(ONE);
          }
          sum = sum.shiftRight(sample.has("shr7") ? 7 : sample.has("shr15") ? 15 : 0);
          return sample.has("sat") ? IntegerCases.clamp(sum, 32, signed) : sum;
        });
  }

  private static Case packed(
      Sample sample, int lanes, String mask, String selectA, String selectB) {
    String body =
        "%s %s, %s, %s, %%a2;"
            .formatted(
                sample.text(), dotted("%x0", mask), dotted("%a0", selectA), dotted("%a1", selectB));
    int bits = 32 / lanes;
    boolean signed = signedResult(sample);
    return of(
        body,
        body,
        a -> {
          BigInteger both = a[1].shiftLeft(32).or(a[0]);
          BigInteger result = a[2];
          for (int lane = 0; lane < lanes; lane++) {
            if (!mask.isEmpty() && mask.indexOf('0' + lane, 1) < 0) {
              continue;
            }
            BigInteger x = element(both, selectA, lane, lane, bits, signed(sample, 0));
            BigInteger y = element(both, selectB, lane, lane + lanes, bits, signed(sample, 1));
            BigInteger value = combine(sample, x, y);
            if (sample.has("sat")) {
              value = IntegerCases.clamp(value, bits, signed);
            }
            result =
                sample.has("add") ? result.add(value) : merged(value, bits, "l" + lane, result);
          }
          return result;
        });
  }

  /** Selectors name the element of the highest lane first. */
  private static BigInteger element(
      BigInteger both, String selector, int lane, int otherwise, int bits, boolean signed) {
    int index =
        selector.isEmpty() ? otherwise : selector.charAt(selector.length() - 1 - lane) - '0';
    return IntegerCases.lane(both, index, bits, signed);
  }
}
