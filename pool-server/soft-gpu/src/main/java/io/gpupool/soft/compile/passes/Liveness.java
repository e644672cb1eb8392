// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.passes;

import static java.util.Objects.requireNonNull;

import io.gpupool.soft.compile.ir.BasicBlock;
import io.gpupool.soft.compile.ir.Graph;
import io.gpupool.soft.compile.ir.Op;
import io.gpupool.soft.compile.ir.Terminator;
import io.gpupool.soft.compile.ir.VReg;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Analysis that finds, for each block, the registers whose values are needed when it begins. */
public final class Liveness {
  /** Registers read before written, and registers written, by the whole block. */
  private record Summary(BitSet reads, BitSet writes) {}

  private Liveness() {}

  public static void compute(Graph graph) {
    Map<BasicBlock, Summary> summaries = new HashMap<>();
    for (BasicBlock block : graph.order()) {
      summaries.put(block, summarise(block));
      block.liveIn().clear();
    }
    boolean changed = true;
    while (changed) {
      changed = false;
      for (BasicBlock block : graph.order().reversed()) {
        Summary summary = requireNonNull(summaries.get(block));
        BitSet live = liveOut(block);
        live.andNot(summary.writes);
        live.or(summary.reads);
        if (!live.equals(block.liveIn())) {
          block.liveIn().clear();
          block.liveIn().or(live);
          changed = true;
        }
      }
    }
  }

  /** Registers whose values are needed after the block. */
  static BitSet liveOut(BasicBlock block) {
    BitSet live = new BitSet();
    block.terminator().successors().forEach(successor -> live.or(successor.liveIn()));
    return live;
  }

  private static Summary summarise(BasicBlock block) {
    BitSet reads = new BitSet();
    BitSet writes = new BitSet();
    for (Op op : block.ops()) {
      addReads(op.uses(), reads, writes);
      for (VReg result : op.results()) {
        if (result != null) {
          writes.set(result.id());
        }
      }
    }
    addReads(usesOf(block.terminator()), reads, writes);
    return new Summary(reads, writes);
  }

  private static void addReads(List<VReg> uses, BitSet reads, BitSet writes) {
    for (VReg use : uses) {
      if (!writes.get(use.id())) {
        reads.set(use.id());
      }
    }
  }

  public static List<VReg> usesOf(Terminator terminator) {
    return switch (terminator) {
      case Terminator.Branch branch -> List.of(branch.predicate());
      case Terminator.Select select -> List.of(select.index());
      case Terminator.Wait wait -> wait.op().uses();
      case Terminator.Call call ->
          call.address() instanceof VReg register ? List.of(register) : List.of();
      case Terminator.Goto _, Terminator.Latch _, Terminator.Return _, Terminator.Exit _ ->
          List.of();
    };
  }
}
