// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.passes;

import io.gpupool.soft.compile.ir.BasicBlock;
import io.gpupool.soft.compile.ir.Graph;
import io.gpupool.soft.compile.ir.Op;
import io.gpupool.soft.compile.ir.Terminator;
import io.gpupool.soft.compile.ir.VReg;
import java.util.List;
import java.util.Map;

/**
 * The choice of registers that stay in a thread's frame, where each use reads them and each
 * operation writes them. It is worth it for what lives across more waits than it is used: code that
 * shuffles many values through a warp would else save and restore all of them at every step, in
 * methods that the JIT compiler gives up on.
 */
public final class FrameRegisters {
  /** A loop is taken to run this often. */
  private static final long TURNS = 8;

  private static final int MAX_DEPTH = 6;

  private final Graph graph;
  private final long[] savings;
  private final long[] uses;

  private FrameRegisters(Graph graph) {
    this.graph = graph;
    savings = new long[graph.registers().size()];
    uses = new long[graph.registers().size()];
  }

  /** Chooses; needs liveness and loops with their latches. */
  public static void choose(Graph graph) {
    FrameRegisters costs = new FrameRegisters(graph);
    Map<BasicBlock, Integer> depths = Loops.depths(graph);
    for (BasicBlock block : graph.order()) {
      long times = 1;
      for (int i = Math.min(MAX_DEPTH, depths.getOrDefault(block, 0)); i > 0; i--) {
        times *= TURNS;
      }
      costs.add(block, times);
    }
    for (VReg register : graph.registers()) {
      if (costs.savings[register.id()] > costs.uses[register.id()]) {
        register.keepInFrame();
      }
    }
  }

  private void add(BasicBlock block, long times) {
    for (Op op : block.ops()) {
      addUses(op.uses(), times);
      for (VReg result : op.results()) {
        if (result != null) {
          uses[result.id()] += times;
        }
      }
    }
    addUses(Liveness.usesOf(block.terminator()), times);
    switch (block.terminator()) {
      case Terminator.Wait wait -> addSavings(wait.next(), times);
      case Terminator.Call call -> addSavings(call.next(), times);
      default -> {}
    }
  }

  private void addUses(List<VReg> registers, long times) {
    registers.forEach(register -> uses[register.id()] += times);
  }

  /** Each live register would be saved once and restored once. */
  private void addSavings(BasicBlock next, long times) {
    next.liveIn().stream().forEach(id -> savings[id] += 2 * times);
  }
}
