// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.method;

import static java.util.Objects.requireNonNull;

import io.gpupool.soft.compile.ir.BasicBlock;
import io.gpupool.soft.compile.ir.Graph;
import io.gpupool.soft.compile.ir.Op;
import io.gpupool.soft.compile.ir.Terminator;
import io.gpupool.soft.compile.ir.VReg;
import io.gpupool.soft.compile.passes.Liveness;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;

/**
 * The division of a graph among JVM methods, and the blocks at which a method can be entered: where
 * waits end, where called functions begin and return to, and where control passes from one method
 * to another.
 *
 * @param parts blocks of each method; the first one begins with the kernel's entry
 * @param partOf method of each block
 * @param resumable blocks that can be entered; the block with number n stands at n - 1
 */
public record MethodPlan(
    List<List<BasicBlock>> parts, Map<BasicBlock, Integer> partOf, List<BasicBlock> resumable) {

  /** Rough bytes of JVM code per unit: an operand moved, a call made. */
  private static final int OP_WEIGHT = 14;

  private static final int MEMORY_WEIGHT = 12;

  /** For a register that is saved and restored. */
  private static final int SAVE_WEIGHT = 24;

  /**
   * Shares out blocks.
   *
   * @param targetBytes of JVM code in a method, roughly
   */
  public static MethodPlan of(Graph graph, int targetBytes) {
    splitLongBlocks(graph, targetBytes);
    List<List<BasicBlock>> parts = new ArrayList<>();
    Map<BasicBlock, Integer> partOf = new HashMap<>();
    int weight = Integer.MAX_VALUE / 2;
    for (BasicBlock block : graph.order()) {
      int more = weight(graph, block);
      if (weight + more > targetBytes) {
        parts.add(new ArrayList<>());
        weight = 0;
      }
      weight += more;
      parts.getLast().add(block);
      partOf.put(block, parts.size() - 1);
    }
    return new MethodPlan(parts, partOf, number(graph, partOf));
  }

  private static void splitLongBlocks(Graph graph, int targetBytes) {
    int most = Math.max(1, targetBytes / 4);
    boolean split = false;
    for (BasicBlock block : graph.order()) {
      BasicBlock rest = block;
      int weight = 0;
      for (int i = 0; i < rest.ops().size(); i++) {
        weight += weight(rest.ops().get(i));
        if (weight > most && i + 1 < rest.ops().size()) {
          rest = graph.split(rest, i + 1);
          i = -1;
          weight = 0;
          split = true;
        }
      }
    }
    if (split) {
      graph.arrange();
      Liveness.compute(graph);
    }
  }

  /** Rough bytes of JVM code. */
  static long weight(Graph graph, List<BasicBlock> blocks) {
    return blocks.stream().mapToLong(block -> weight(graph, block)).sum();
  }

  private static int weight(Graph graph, BasicBlock block) {
    int weight = 8;
    for (Op op : block.ops()) {
      weight += weight(op);
    }
    return switch (block.terminator()) {
      case Terminator.Wait wait -> weight + 40 + SAVE_WEIGHT * saved(graph, wait.next());
      case Terminator.Latch latch -> weight + 20 + SAVE_WEIGHT * saved(graph, latch.next());
      case Terminator.Call call -> weight + 40 + SAVE_WEIGHT * saved(graph, call.next());
      case Terminator.Select select -> weight + 16 + 4 * select.targets().size();
      case Terminator.Goto _, Terminator.Branch _, Terminator.Return _, Terminator.Exit _ -> weight;
    };
  }

  /** Registers that are written to the frame before a block is entered anew, and read there. */
  private static int saved(Graph graph, BasicBlock next) {
    return (int) next.liveIn().stream().filter(id -> !graph.registers().get(id).inFrame()).count();
  }

  private static int weight(Op op) {
    int operands = op.results().size() + op.args().size();
    for (VReg use : op.uses()) {
      operands += use.inFrame() ? 2 : 0;
    }
    return switch (op.opcode()) {
      case "ld", "st", "atom", "red" -> OP_WEIGHT + MEMORY_WEIGHT * (1 + operands);
      default -> OP_WEIGHT + 4 * operands;
    };
  }

  /** Numbers the blocks that can be entered, in their order. */
  private static List<BasicBlock> number(Graph graph, Map<BasicBlock, Integer> partOf) {
    Set<BasicBlock> entered = new LinkedHashSet<>(graph.routines());
    for (BasicBlock block : graph.order()) {
      switch (block.terminator()) {
        case Terminator.Wait wait -> entered.add(wait.next());
        case Terminator.Latch latch when latch.yields() -> entered.add(latch.next());
        case Terminator.Call call -> entered.add(call.next());
        default -> {}
      }
      for (BasicBlock successor : block.terminator().successors()) {
        if (!requireNonNull(partOf.get(successor)).equals(partOf.get(block))) {
          entered.add(successor);
        }
      }
    }
    List<BasicBlock> resumable = new ArrayList<>();
    for (BasicBlock block : graph.order()) {
      block.resumeId(0);
      if (entered.contains(block)) {
        resumable.add(block);
        block.resumeId(resumable.size());
      }
    }
    return resumable;
  }

  /** The blocks of one method that can be entered. */
  List<BasicBlock> resumableIn(int part) {
    return resumable.stream().filter(block -> requireNonNull(partOf.get(block)) == part).toList();
  }

  /** Whether the threads of a block take turns, each with a frame of its own. */
  public boolean waits(Graph graph) {
    return graph.hasCalls() || resumable.stream().anyMatch(isWaitEnd());
  }

  private static Predicate<BasicBlock> isWaitEnd() {
    return block ->
        block.predecessors().stream()
            .anyMatch(predecessor ->
                switch (predecessor.terminator()) {
                  case Terminator.Wait _ -> true;
                  case Terminator.Latch latch -> latch.yields();
                  default -> false;
                });
  }
}
