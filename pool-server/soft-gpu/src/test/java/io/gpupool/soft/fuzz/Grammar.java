// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.fuzz;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * Expands productions. <code>{a|b}</code> is one of its parts, {@code <r>} a register or constant
 * as in {@link #symbol}, {@code <r:1>} the same one wherever it stands in the production, and a
 * semicolon separates statements.
 */
final class Grammar {
  /** Registers a thread computes with, by the letter that stands for their kind. */
  static final Map<Character, List<String>> REGISTERS =
      Map.of(
          'p', List.of("%p0", "%p1", "%p2", "%p3"),
          'h', List.of("%h0", "%h1", "%h2", "%h3"),
          'r', List.of("%r0", "%r1", "%r2", "%r3", "%s0", "%s1", "%u0"),
          'x', List.of("%x0", "%x1", "%x2", "%y0", "%z0"),
          'f', List.of("%f0", "%f1", "%f2", "%f3"),
          'e', List.of("%e0", "%e1", "%e2"),
          'k', List.of("%k0", "%k1", "%k2"),
          'b', List.of("%b0", "%b1"),
          'v', List.of("%v0", "%v1"),
          'w', List.of("%w0"));

  private static final float[] SINGLES = {
    0,
    -0f,
    1,
    -1,
    0.5f,
    1.5f,
    3,
    -7.25f,
    1e-40f,
    -3e-39f,
    0x1p-126f,
    3e38f,
    -1e30f,
    65504,
    65536,
    2.5f,
    1e10f,
    -2147483648f,
    4294967296f,
    0x1p-24f,
    0.1f,
    Float.POSITIVE_INFINITY,
    Float.NEGATIVE_INFINITY,
    Float.NaN,
    Float.MAX_VALUE,
    Float.MIN_VALUE
  };

  private final Random random;

  Grammar(Random random) {
    this.random = random;
  }

  Random random() {
    return random;
  }

  int below(int bound) {
    return random.nextInt(bound);
  }

  boolean chance(double probability) {
    return random.nextDouble() < probability;
  }

  <T> T pick(List<T> list) {
    return list.get(random.nextInt(list.size()));
  }

  /** The statements of a production, each with its semicolon. */
  List<String> expand(String rule) {
    String production = rule;
    StringBuilder text = new StringBuilder();
    Map<String, String> bound = new HashMap<>();
    for (int i = 0; i < production.length(); i++) {
      char c = production.charAt(i);
      if (c == '{' && production.indexOf('|', i) > 0 && isChoice(production, i)) {
        // The part chosen is expanded in its turn.
        int end = production.indexOf('}', i);
        String part = pick(List.of(production.substring(i + 1, end).split("\\|", -1)));
        production = production.substring(0, i) + part + production.substring(end + 1);
        i--;
      } else if (c == '<') {
        int end = production.indexOf('>', i);
        String symbol = production.substring(i + 1, end);
        text.append(
            symbol.contains(":")
                ? bound.computeIfAbsent(symbol, s -> symbol(s.substring(0, s.indexOf(':'))))
                : symbol(symbol));
        i = end;
      } else {
        text.append(c);
      }
    }
    List<String> statements = new ArrayList<>();
    for (String statement : text.toString().split(";")) {
      statements.add(statement.strip() + ";");
    }
    return statements;
  }

  /** Braces without a bar are part of the instruction. */
  private static boolean isChoice(String production, int open) {
    return production.substring(open, production.indexOf('}', open)).contains("|");
  }

  private String symbol(String symbol) {
    char kind = symbol.charAt(0);
    if (Character.isDigit(kind) || kind == '-') {
      // A range of numbers, or one of a step: 0..31, 0..124/4.
      String[] parts = symbol.split("\\.\\.|/");
      int step = parts.length > 2 ? Integer.parseInt(parts[2]) : 1;
      int least = Integer.parseInt(parts[0]);
      return Integer.toString(
          least + step * below((Integer.parseInt(parts[1]) - least) / step + 1));
    }
    List<String> registers = REGISTERS.get(kind);
    if (registers == null) {
      return switch (kind) {
        case 'q' -> (chance(0.3) ? "!" : "") + pick(REGISTERS.get('p'));
        case 'n' -> chance(0.5) ? pick(REGISTERS.get('r')) : Integer.toString(below(70));
        default -> throw new IllegalArgumentException(symbol);
      };
    }
    if (symbol.length() == 1) {
      return pick(registers);
    }
    if (symbol.charAt(1) == 'i') {
      return chance(0.7) ? pick(registers) : constant(kind);
    }
    // Several registers, all different.
    int many = symbol.charAt(1) - '0';
    List<String> rest = new ArrayList<>(registers);
    List<String> chosen = new ArrayList<>();
    for (int i = 0; i < many; i++) {
      chosen.add(rest.remove(below(rest.size())));
    }
    return String.join(", ", chosen);
  }

  private String constant(char kind) {
    return switch (kind) {
      case 'h' -> Integer.toString((short) whole());
      case 'r' -> chance(0.5) ? Integer.toString((int) whole()) : "0x%x".formatted((int) whole());
      case 'x' -> chance(0.5) ? "0x%x".formatted(whole()) : Long.toString(whole() >> 1);
      case 'f' -> "0f%08X".formatted(single());
      default -> "0d%016X".formatted(number());
    };
  }

  /** An integer, small or extreme more often than not. */
  long whole() {
    return switch (below(5)) {
      case 0 -> below(8);
      case 1 -> -below(8);
      case 2 -> (1L << below(64)) - below(2);
      case 3 -> -(1L << below(64));
      default -> random.nextLong();
    };
  }

  int single() {
    return chance(0.5)
        ? Float.floatToRawIntBits(SINGLES[below(SINGLES.length)])
        : chance(0.5) ? random.nextInt() : Float.floatToRawIntBits(random.nextFloat() * 100 - 50);
  }

  long number() {
    return chance(0.4)
        ? Double.doubleToRawLongBits(SINGLES[below(SINGLES.length)])
        : chance(0.5)
            ? random.nextLong()
            : Double.doubleToRawLongBits(random.nextDouble() * 100 - 50);
  }
}
