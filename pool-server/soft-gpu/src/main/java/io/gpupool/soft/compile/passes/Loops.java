// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.passes;

import static java.util.Objects.requireNonNull;

import io.gpupool.soft.compile.ir.BasicBlock;
import io.gpupool.soft.compile.ir.Graph;
import io.gpupool.soft.compile.ir.Op;
import io.gpupool.soft.compile.ir.Terminator;
import io.gpupool.soft.compile.ir.Value;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Pass that gives each loop one latch, a block that all its back edges pass, where a running thread
 * notices that its grid was cancelled, or lets other threads run if the loop may only be waiting.
 */
public final class Loops {
  private Loops() {}

  public static void addLatches(Graph graph) {
    Map<BasicBlock, Integer> index = new HashMap<>();
    for (BasicBlock block : graph.order()) {
      index.put(block, index.size());
    }
    Map<BasicBlock, List<BasicBlock>> backEdges = new LinkedHashMap<>();
    for (BasicBlock block : graph.order()) {
      for (BasicBlock target : new LinkedHashSet<>(block.terminator().successors())) {
        if (requireNonNull(index.get(target)) <= requireNonNull(index.get(block))) {
          backEdges.computeIfAbsent(target, _ -> new ArrayList<>()).add(block);
        }
      }
    }
    backEdges.forEach((header, sources) -> {
      boolean yields = body(header, sources).stream().anyMatch(Loops::mayAwaitOthers);
      BasicBlock latch = graph.newBlock();
      latch.end(new Terminator.Latch(yields, header));
      sources.forEach(source -> source.end(retarget(source.terminator(), header, latch)));
    });
    graph.arrange();
  }

  /** How many loops each block of a loop lies in; blocks outside of all are absent. */
  static Map<BasicBlock, Integer> depths(Graph graph) {
    Map<BasicBlock, Integer> depths = new HashMap<>();
    for (BasicBlock block : graph.order()) {
      if (block.terminator() instanceof Terminator.Latch(boolean _, BasicBlock header)) {
        body(header, List.of(block)).forEach(inside -> depths.merge(inside, 1, Integer::sum));
      }
    }
    return depths;
  }

  /** Blocks from which a back edge's source is reached without passing the header. */
  private static Set<BasicBlock> body(BasicBlock header, List<BasicBlock> sources) {
    Set<BasicBlock> body = new LinkedHashSet<>();
    body.add(header);
    Deque<BasicBlock> open = new ArrayDeque<>();
    for (BasicBlock source : sources) {
      if (body.add(source)) {
        open.add(source);
      }
    }
    while (!open.isEmpty()) {
      for (BasicBlock predecessor : open.remove().predecessors()) {
        if (body.add(predecessor)) {
          open.add(predecessor);
        }
      }
    }
    return body;
  }

  /** Whether a block holds what a loop that waits for another thread, or for a time, would hold. */
  private static boolean mayAwaitOthers(BasicBlock block) {
    return block.ops().stream()
        .anyMatch(op ->
            switch (op.opcode()) {
              case "atom", "membar", "fence", "mbarrier" -> true;
              case "call" -> op.has(Op.LAUNCHES_DONE);
              case "ld" ->
                  op.has("volatile") || op.has("relaxed") || op.has("acquire") || op.has("mmio");
              // Until a time has passed: as many threads as there are can wait for that at once.
              case "mov" -> op.args().stream().anyMatch(Loops::isClock);
              default -> false;
            });
  }

  private static boolean isClock(Value value) {
    return value instanceof Value.Special(String name)
        && (name.startsWith("%clock") || name.startsWith("%globaltimer"));
  }

  private static Terminator retarget(Terminator terminator, BasicBlock from, BasicBlock to) {
    return switch (terminator) {
      case Terminator.Goto _ -> new Terminator.Goto(to);
      case Terminator.Branch branch ->
          new Terminator.Branch(
              branch.predicate(),
              branch.negated(),
              branch.whenTrue() == from ? to : branch.whenTrue(),
              branch.whenFalse() == from ? to : branch.whenFalse());
      case Terminator.Select select ->
          new Terminator.Select(
              select.index(),
              select.targets().stream().map(target -> target == from ? to : target).toList());
      case Terminator.Wait wait -> new Terminator.Wait(wait.op(), to);
      case Terminator.Latch latch -> new Terminator.Latch(latch.yields(), to);
      case Terminator.Call call ->
          new Terminator.Call(call.source(), call.address(), call.entries(), to);
      case Terminator.Return _, Terminator.Exit _ -> terminator;
    };
  }
}
