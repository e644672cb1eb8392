// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.fuzz;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Makes PTX wrong in the ways in which programs and compilers get it wrong. */
final class Damage {
  private static final Pattern TYPE = Pattern.compile("\\.[busf](8|16|32|64)\\b|\\.pred\\b");
  private static final Pattern REGISTER = Pattern.compile("%[a-z]+[0-9]*");
  private static final Pattern MODIFIER = Pattern.compile("\\.[a-z][a-z0-9_]*");
  private static final Pattern NUMBER = Pattern.compile("\\b[0-9]+\\b");
  private static final Pattern OPERAND = Pattern.compile(" [^ ,;]+,");
  private static final Pattern LABEL = Pattern.compile("[A-Z]+[0-9]?_[0-9]+");
  private static final Pattern OPCODE = Pattern.compile("^ *(@!?%p[0-9] )?[a-z0-9]+");
  private static final Pattern SYMBOL = Pattern.compile("[\\[\\]{}(),;:]");

  private static final List<String> TYPES =
      List.of(
          ".u8", ".s16", ".b16", ".u32", ".s64", ".b128", ".f16", ".f32", ".f64", ".pred", ".f16x2",
          ".bf16", ".tf32", ".e4m3x2", "");
  private static final List<String> REGISTERS =
      List.of(
          "%p0",
          "%h1",
          "%r2",
          "%x1",
          "%f0",
          "%e1",
          "%nothing",
          "%r99",
          "%tid.x",
          "%tid.w",
          "7",
          "0f3F800000",
          "_",
          "!%p1",
          "{%r0, %r1}",
          "[%slot]",
          "%r0|%r1",
          "n",
          "local");
  private static final List<String> MODIFIERS =
      List.of(
          ".wide",
          ".hi",
          ".rn",
          ".rz",
          ".sat",
          ".ftz",
          ".cc",
          ".global",
          ".shared",
          ".param",
          ".v2",
          ".v4",
          ".v8",
          ".lt",
          ".and",
          ".sync",
          ".relaxed",
          ".gpu",
          ".nothing",
          "");
  private static final List<String> NUMBERS =
      List.of(
          "-1",
          "0",
          "3",
          "17",
          "65536",
          "4294967296",
          "0xffffffffffffffff",
          "1e5",
          "0f00",
          "99999999999999999999",
          "0b102",
          "08");
  private static final List<String> OPCODES =
      List.of(
          "add",
          "mad",
          "ld",
          "st",
          "atom",
          "red",
          "cvt",
          "cvta",
          "setp",
          "selp",
          "bra",
          "brx.idx",
          "call",
          "ret",
          "exit",
          "bar",
          "barrier",
          "shfl",
          "vote",
          "match",
          "redux",
          "tex",
          "suld",
          "mma",
          "wgmma",
          "cp.async",
          "mbarrier",
          "alloca",
          "mov",
          "prmt",
          "vadd",
          "nothing",
          "isspacep",
          "prefetch",
          "fence",
          "discard",
          "elect",
          "slct",
          "set",
          "fma",
          "div",
          "nanosleep");

  private final Grammar grammar;

  Damage(Grammar grammar) {
    this.grammar = grammar;
  }

  /** A text with one to three faults. */
  String damaged(String text) {
    List<String> lines = new ArrayList<>(text.lines().toList());
    for (int i = 1 + grammar.below(3); i > 0; i--) {
      damage(lines);
    }
    String damaged = String.join("\n", lines);
    return grammar.chance(0.03) ? damaged.substring(0, grammar.below(damaged.length())) : damaged;
  }

  private void damage(List<String> lines) {
    int at = grammar.below(lines.size());
    String line = lines.get(at);
    switch (grammar.below(12)) {
      case 0, 1 -> lines.set(at, replaced(line, TYPE, TYPES));
      case 2, 3 -> lines.set(at, replaced(line, REGISTER, REGISTERS));
      case 4 -> lines.set(at, replaced(line, MODIFIER, MODIFIERS));
      case 5 -> lines.set(at, replaced(line, NUMBER, NUMBERS));
      case 6 -> lines.set(at, replaced(line, OPERAND, List.of(" ", " %r0, %r0,", " {%r0},", ",")));
      case 7 -> lines.set(at, replaced(line, LABEL, List.of("NOWHERE", "DONE", "LOOP_0", "0")));
      case 8 -> lines.set(at, replaced(line, OPCODE, OPCODES));
      case 9 -> lines.set(at, replaced(line, SYMBOL, List.of("", ";", ",", "{", "}", "[", ")")));
      case 10 -> lines.remove(at);
      default -> lines.add(grammar.below(lines.size()), line);
    }
  }

  /** Puts something else in place of one of the matches. */
  private String replaced(String line, Pattern pattern, List<String> others) {
    Matcher matcher = pattern.matcher(line);
    List<int[]> places = new ArrayList<>();
    while (matcher.find()) {
      places.add(new int[] {matcher.start(), matcher.end()});
    }
    if (places.isEmpty()) {
      return line;
    }
    int[] place = grammar.pick(places);
    return line.substring(0, place[0]) + grammar.pick(others) + line.substring(place[1]);
  }
}
