// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.fuzz;

import java.util.ArrayList;
import java.util.List;

/**
 * Makes the statements of a body. The threads of a warp that are at a place together are known to
 * the generated code: the register {@code %mD}, where D is the depth of nesting, holds their mask.
 */
final class Flow {
  private static final int MAX_DEPTH = 4;
  private static final int MAX_TURNS = 12;

  /**
   * Where a statement stands.
   *
   * @param uniform whether all threads of the block come here, or have ended
   * @param masked whether the mask of the threads that come here together is known
   * @param turns how often the place may be passed
   */
  private record Place(int depth, boolean uniform, boolean masked, int turns) {
    String mask() {
      return "%m" + depth;
    }

    Place inside(boolean stillUniform, boolean stillMasked, int times) {
      return new Place(depth + 1, uniform && stillUniform, masked && stillMasked, turns * times);
    }
  }

  private final Grammar grammar;
  private final String table;
  private final List<Callable> callables;
  private final boolean warps;
  private int labels;

  /** Whether the threads of all warps are all there. */
  boolean fullWarps;

  /** Whether the kernel uses barriers of the block. */
  boolean barriers;

  /** Threads of a block. */
  int threads;

  boolean inFunction;

  /** The function that is being made, if any. */
  Callable itself;

  private int selfCalls;
  private boolean exits;

  Flow(Grammar grammar, String table, List<Callable> callables, boolean warps) {
    this.grammar = grammar;
    this.table = table;
    this.callables = List.copyOf(callables);
    this.warps = warps;
  }

  /** A body of about {@code count} statements. */
  List<Node> body(int count) {
    return body(new Place(0, !inFunction, warps, inFunction ? 4 : 1), count);
  }

  private List<Node> body(Place place, int count) {
    List<Node> nodes = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      nodes.add(grammar.chance(0.22) ? construct(place) : straight(place));
    }
    return nodes;
  }

  private Node.Group group(Place place) {
    return new Node.Group(body(place, 1 + grammar.below(4)));
  }

  private Node straight(Place place) {
    int kind = grammar.below(100);
    if (kind < 10 && place.masked()) {
      boolean full = fullWarps && place.depth() == 0 && !inFunction && grammar.chance(0.4);
      return production(full ? Productions.FULL_WARP : Productions.WARP, place, false);
    }
    if (kind < 14 && barriers && place.uniform()) {
      return barrier(place);
    }
    List<String> rules =
        kind < 30
            ? Productions.INTEGERS
            : kind < 42
                ? Productions.BITS
                : kind < 50
                    ? Productions.SINGLES
                    : kind < 54
                        ? Productions.DOUBLES
                        : kind < 60
                            ? Productions.HALVES
                            : kind < 67
                                ? Productions.CONVERSIONS
                                : kind < 77
                                    ? Productions.PREDICATES
                                    : kind < 80
                                        ? Productions.MOVES
                                        : kind < 92
                                            ? Productions.MEMORY
                                            : kind < 95 || inFunction
                                                ? Productions.ATOMICS
                                                : Productions.COMMON;
    return production(rules, place, true);
  }

  private Node production(List<String> rules, Place place, boolean guarded) {
    List<String> lines = new ArrayList<>(grammar.expand(grammar.pick(rules)));
    lines.replaceAll(line -> {
      boolean red = line.startsWith("red");
      return line.replace("MASK", place.mask())
          .replace("TABLE", table)
          .replace("DROP", red ? "" : "%tr3, ")
          .replace("WIDE", red ? "" : "%tx2, ");
    });
    if (guarded && grammar.chance(0.12)) {
      String guard = grammar.expand("@<q> ").getFirst().replace(";", " ");
      lines.add(guard + lines.removeLast());
    }
    return new Node.Lines(lines);
  }

  private Node barrier(Place place) {
    if (fullWarps && !exits && place.depth() == 0 && grammar.chance(0.2)) {
      return Node.lines("bar.sync " + grammar.below(16) + ", " + threads + ";");
    }
    return switch (grammar.below(3)) {
      case 0 -> production(Productions.BARRIERS, place, false);
      case 1 -> exchange();
      default -> {
        List<String> lines = new ArrayList<>(List.of("bar.sync 0;"));
        int cell = threads * 16 + 4 * grammar.below(4);
        lines.addAll(
            grammar.expand("red.shared.{add|xor|max|or|min}.{u32|u32} [%sh+" + cell + "], <r>"));
        lines.replaceAll(line -> line.replaceAll("\\.(xor|or)\\.u32", ".$1.b32"));
        lines.add("bar.sync 0;");
        lines.addAll(grammar.expand("ld.shared.u32 <r>, [%sh+" + cell + "]"));
        lines.add("bar.sync 0;");
        yield new Node.Lines(lines);
      }
    };
  }

  /** Each thread stores a word that is its own, and reads another's. */
  private Node exchange() {
    return new Node.Lines(
        grammar
            .expand(
                "mul.wide.u32 %tx0, %c15, 16; add.s64 %tx1, %sh, %tx0;"
                    + "{st.shared.u32 [%tx1+<0..12/4>], <r>|st.shared.v2.u32 [%tx1+8], %open<r>, <r>"
                    + "%close|cvta.shared.u64 %tx1, %tx1; st.u64 [%tx1+8], <x>|"
                    + "st.shared.u8 [%tx1+<0..15>], <h>|atom.shared.add.u32 <r>, [%tx1+4], <r>};"
                    + "bar.sync 0; rem.u32 %tr0, <r>, %c14; mul.wide.u32 %tx0, %tr0, 16;"
                    + "add.s64 %tx1, %sh, %tx0;"
                    + "{ld.shared.u32 <r>, [%tx1+<0..12/4>]|ld.shared.f64 <e>, [%tx1]|"
                    + "cvt.u32.u64 %tr1, %tx1; ld.shared.u32 <r>, [%tr1+4]|"
                    + "cvta.shared.u64 %tx1, %tx1; ld.s32 <r>, [%tx1+8]};"
                    + "bar.sync 0")
            .stream()
            .map(line -> line.replace("%open", "{").replace("%close", "}"))
            .toList());
  }

  private Node construct(Place place) {
    if (place.depth() >= MAX_DEPTH) {
      return straight(place);
    }
    boolean loops = place.turns() < MAX_TURNS;
    return switch (grammar.below(10)) {
      case 0, 1 -> choice(place);
      case 2 -> loops ? loop(place) : choice(place);
      case 3 -> loops ? count(place) : choice(place);
      case 4 -> table(place);
      case 5 -> loops ? irreducible(place) : table(place);
      case 6 -> loops ? machine(place) : choice(place);
      case 7, 8 -> call(place);
      default -> leave(place);
    };
  }

  private String predicate() {
    return grammar.pick(Grammar.REGISTERS.get('p'));
  }

  private static Node vote(String result, String predicate, String mask) {
    return Node.fixed("vote.sync.ballot.b32 %s, %s, %s;".formatted(result, predicate, mask));
  }

  private Node choice(Place place) {
    int n = labels++;
    String p = predicate();
    Place inside = place.inside(false, true, 1);
    List<Node> parts = new ArrayList<>();
    if (place.masked()) {
      parts.add(vote(inside.mask(), p, place.mask()));
    }
    boolean otherwise = grammar.chance(0.5);
    parts.add(Node.fixed("@!%s bra %s_%d;".formatted(p, otherwise ? "ELSE" : "END", n)));
    parts.add(group(inside));
    if (otherwise) {
      parts.add(Node.fixed("bra END_" + n + ";", "ELSE_" + n + ":"));
      if (place.masked()) {
        parts.add(Node.fixed("xor.b32 %1$s, %2$s, %1$s;".formatted(inside.mask(), place.mask())));
      }
      parts.add(group(inside));
    }
    parts.add(Node.fixed("END_" + n + ":"));
    return new Node.Group(parts);
  }

  /** A loop of which each thread makes as many turns as it likes, up to three. */
  private Node loop(Place place) {
    int n = labels++;
    Place inside = place.inside(false, true, 3);
    String counter = "%c" + inside.depth();
    List<Node> parts = new ArrayList<>();
    parts.add(new Node.Fixed(grammar.expand("and.b32 " + counter + ", <r>, 3")));
    if (place.masked()) {
      parts.add(Node.fixed("mov.u32 %s, %s;".formatted(inside.mask(), place.mask())));
    }
    parts.add(Node.fixed("LOOP_" + n + ":", "setp.gt.s32 %tp3, " + counter + ", 0;"));
    if (place.masked()) {
      parts.add(vote(inside.mask(), "%tp3", inside.mask()));
    }
    parts.add(Node.fixed("@!%tp3 bra END_" + n + ";"));
    parts.add(group(inside));
    parts.add(
        Node.fixed(
            "sub.s32 %1$s, %1$s, 1;".formatted(counter), "bra LOOP_" + n + ";", "END_" + n + ":"));
    return new Node.Group(parts);
  }

  /** A loop of which all threads make the same number of turns. */
  private Node count(Place place) {
    int n = labels++;
    int turns = 2 + grammar.below(2);
    Place inside = place.inside(true, true, turns);
    String counter = "%c" + inside.depth();
    return new Node.Group(
        List.of(
            Node.fixed(
                "mov.u32 %s, %d;".formatted(counter, turns),
                "mov.u32 %s, %s;".formatted(inside.mask(), place.mask()),
                "LOOP_" + n + ":"),
            group(inside),
            Node.fixed(
                "sub.s32 %1$s, %1$s, 1;".formatted(counter),
                "setp.ne.s32 %tp3, " + counter + ", 0;",
                "@%tp3 bra LOOP_" + n + ";")));
  }

  /** {@code brx.idx}; where masks do not matter, cases fall through at times. */
  private Node table(Place place) {
    int n = labels++;
    Place inside = place.inside(false, true, 1);
    String index = "%c" + inside.depth();
    List<Node> parts = new ArrayList<>();
    parts.add(new Node.Fixed(grammar.expand("and.b32 " + index + ", <r>, 3")));
    if (place.masked()) {
      parts.add(
          Node.fixed(
              "match.any.sync.b32 %s, %s, %s;".formatted(inside.mask(), index, place.mask())));
    }
    parts.add(Node.fixed(targets(n), "brx.idx " + index + ", TARGETS_" + n + ";"));
    for (int i = 0; i < 4; i++) {
      parts.add(Node.fixed("CASE" + i + "_" + n + ":"));
      parts.add(group(inside));
      if (place.masked() || grammar.chance(0.6)) {
        parts.add(Node.fixed("bra END_" + n + ";"));
      }
    }
    parts.add(Node.fixed("END_" + n + ":"));
    return new Node.Group(parts);
  }

  private static String targets(int n) {
    return "TARGETS_%1$d: .branchtargets CASE0_%1$d, CASE1_%1$d, CASE2_%1$d, CASE3_%1$d;"
        .formatted(n);
  }

  /** A loop with two entries. */
  private Node irreducible(Place place) {
    int n = labels++;
    Place inside = place.inside(false, false, 4);
    String fuel = "%c" + inside.depth();
    return new Node.Group(
        List.of(
            Node.fixed(
                "mov.u32 %s, %d;".formatted(fuel, 2 + grammar.below(4)),
                "@%s bra MID_%d;".formatted(predicate(), n),
                "HEAD_" + n + ":"),
            group(inside),
            Node.fixed("MID_" + n + ":"),
            group(inside),
            Node.fixed(
                "sub.s32 %1$s, %1$s, 1;".formatted(fuel),
                grammar.expand("setp.gt.and.s32 %tp3, " + fuel + ", 0, <q>").getFirst(),
                "@%tp3 bra HEAD_" + n + ";",
                "setp.gt.s32 %tp3, " + fuel + ", 0;",
                "@%tp3 bra MID_" + n + ";")));
  }

  /** Four places each of which goes on at any of them. */
  private Node machine(Place place) {
    int n = labels++;
    Place inside = place.inside(false, false, 5);
    String fuel = "%c" + inside.depth();
    List<Node> parts = new ArrayList<>();
    parts.add(Node.fixed("mov.u32 %s, %d;".formatted(fuel, 3 + grammar.below(3)), targets(n)));
    for (int i = 0; i < 4; i++) {
      parts.add(Node.fixed("CASE" + i + "_" + n + ":"));
      parts.add(group(inside));
      List<String> next =
          new ArrayList<>(
              List.of(
                  "sub.s32 %1$s, %1$s, 1;".formatted(fuel),
                  "setp.le.s32 %tp3, " + fuel + ", 0;",
                  "@%tp3 bra END_" + n + ";"));
      next.addAll(grammar.expand("and.b32 %tr0, <r>, 3; brx.idx %tr0, TARGETS_" + n));
      parts.add(new Node.Fixed(next));
    }
    parts.add(Node.fixed("END_" + n + ":"));
    return new Node.Group(parts);
  }

  private Node call(Place place) {
    if (itself != null && itself.recursive() && selfCalls < 2 && place.turns() <= 4) {
      selfCalls++;
      int n = labels++;
      return new Node.Group(
          List.of(
              Node.fixed(
                  "setp.le.s32 %tp3, %c11, 0;",
                  "@%tp3 bra SKIP_" + n + ";", "sub.s32 %c12, %c11, 1;"),
              new Node.Lines(itself.call(grammar, "%m0", "%c12", "", "")),
              Node.fixed("SKIP_" + n + ":")));
    }
    List<Callable> fit =
        callables.stream().filter(callable -> place.masked() || !callable.masked()).toList();
    if (fit.isEmpty() || place.turns() > 6) {
      return straight(place);
    }
    Callable callee = grammar.pick(fit);
    List<String> lines = new ArrayList<>();
    String depth = "0";
    if (callee.recursive()) {
      lines.addAll(grammar.expand("and.b32 %tr5, <r>, 3"));
      depth = "%tr5";
    }
    String address = "";
    if (callee.indirect() && grammar.chance(0.6)) {
      address = "%tx0";
      List<String> order =
          callables.stream().filter(Callable::indirect).map(Callable::name).toList();
      lines.add(
          grammar.chance(0.5)
              ? "mov.u64 %tx0, " + callee.name() + ";"
              : "ld.global.u64 %%tx0, [%s+%d];"
                  .formatted(table.replace("_table", "_calls"), 8 * order.indexOf(callee.name())));
    }
    lines.addAll(callee.call(grammar, place.mask(), depth, address, "PROTO_" + labels++));
    return new Node.Lines(lines);
  }

  /** Some threads end. Those that stay must know who does, if they ask each other anything. */
  private Node leave(Place place) {
    if (inFunction) {
      boolean early = !warps && grammar.chance(0.5);
      return early
          ? Node.lines("@" + predicate() + grammar.pick(List.of(" ret;", " bra DONE;")))
          : straight(place);
    }
    if (!warps && grammar.chance(0.3)) {
      exits = true;
      return Node.lines("@" + predicate() + grammar.pick(List.of(" exit;", " ret;")));
    }
    if (!warps || place.depth() > 0 || grammar.chance(0.6)) {
      return straight(place);
    }
    exits = true;
    fullWarps = false;
    String p = predicate();
    return new Node.Group(
        List.of(
            Node.fixed(
                "not.pred %tp3, " + p + ";",
                "vote.sync.ballot.b32 %m0, %tp3, %m0;",
                "@" + p + " exit;")));
  }
}
