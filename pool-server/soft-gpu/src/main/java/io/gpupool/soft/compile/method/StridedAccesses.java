// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.method;

import static java.util.Objects.requireNonNull;

import io.gpupool.soft.compile.ir.BasicBlock;
import io.gpupool.soft.compile.ir.Graph;
import io.gpupool.soft.compile.ir.Op;
import io.gpupool.soft.compile.ir.VReg;
import io.gpupool.soft.compile.ir.Value;
import io.gpupool.soft.compile.passes.AffineStrides;
import io.gpupool.soft.compile.passes.Recipes;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Loads and stores of a region whose addresses grow evenly along a row of threads, so that all of a
 * row's can be checked before its first thread runs.
 *
 * @param slopes of each access, bytes from thread to thread
 * @param steps what computes the addresses, in the graph's order, from nothing but the steps
 *     before: operations, and the accesses themselves where their address is known
 * @param needed the operations among the steps
 * @param values by how much values change from thread to thread; null where nothing is needed
 */
record StridedAccesses(
    Map<Op, Long> slopes, List<Op> steps, Set<Op> needed, @Nullable AffineStrides values) {
  static final StridedAccesses NONE = new StridedAccesses(Map.of(), List.of(), Set.of(), null);

  /** Beyond it a row covers so much memory that checking it takes longer than it saves. */
  private static final long MAX_SLOPE_BYTES = 512;

  /** Finds them. */
  static StridedAccesses of(Graph graph, Region region) {
    Recipes recipes = new Recipes(graph);
    AffineStrides values = new AffineStrides(recipes);
    // What stands before an access has its registers in locals that nothing else has taken since.
    Set<Op> before = new HashSet<>();
    Map<Op, Long> slopes = new LinkedHashMap<>();
    Set<Op> needed = new HashSet<>();
    // In the order by which registers share locals, which need not be the region's.
    List<BasicBlock> order = graph.order().stream().filter(region.blocks()::contains).toList();
    for (BasicBlock block : order) {
      for (Op op : block.ops()) {
        if (isGlobal(op) && op.args().getFirst() instanceof Value.Memory(Value base, long _)) {
          OptionalLong slope = values.of(base);
          List<Op> made = slope.isPresent() ? made(recipes, base) : List.of();
          if (slope.isPresent()
              && slope.getAsLong() % op.accessedBytes() == 0
              && Math.abs(slope.getAsLong()) <= MAX_SLOPE_BYTES
              && before.containsAll(made)
              && made.stream().noneMatch(StridedAccesses::isInFrame)) {
            slopes.put(op, slope.getAsLong());
            needed.addAll(made);
          }
        }
        if (isMadeOf(op, before, recipes)) {
          before.add(op);
        }
      }
    }
    return new StridedAccesses(slopes, steps(order, slopes, needed, recipes), needed, values);
  }

  private static List<Op> steps(
      List<BasicBlock> order, Map<Op, Long> slopes, Set<Op> needed, Recipes recipes) {
    List<Op> steps = new ArrayList<>();
    Set<Op> before = new HashSet<>();
    for (BasicBlock block : order) {
      for (Op op : block.ops()) {
        if ((needed.contains(op) || slopes.containsKey(op)) && isMadeOf(op, before, recipes)) {
          steps.add(op);
          before.add(op);
        }
      }
    }
    return steps;
  }

  /**
   * Whether these make all that an operation's address or result is made from. In a loop a value
   * may be used above the place at which it is made, and some are made again behind a wait.
   */
  private static boolean isMadeOf(Op op, Set<Op> before, Recipes recipes) {
    List<VReg> uses =
        isGlobal(op) && op.args().getFirst() instanceof Value.Memory(VReg base, long _)
            ? List.of(base)
            : op.uses();
    return uses.stream()
        .map(recipes::of)
        .allMatch(made -> made != null && before.contains(made.op()));
  }

  /** Whether a step makes part of an address. */
  boolean isNeeded(Op op) {
    return needed.contains(op);
  }

  private static boolean isGlobal(Op op) {
    return switch (op.opcode()) {
      case "ld", "ldu", "st" ->
          switch (op.space()) {
            case GLOBAL, CONST, GENERIC -> true;
            default -> false;
          };
      default -> false;
    };
  }

  private static List<Op> made(Recipes recipes, Value base) {
    if (!(base instanceof VReg register)) {
      return List.of();
    }
    Set<VReg> needed = new LinkedHashSet<>();
    recipes.of(register);
    recipes.collect(register, needed);
    return needed.stream().map(made -> requireNonNull(recipes.of(made)).op()).toList();
  }

  private static boolean isInFrame(Op op) {
    return op.results().getFirst().inFrame();
  }
}
