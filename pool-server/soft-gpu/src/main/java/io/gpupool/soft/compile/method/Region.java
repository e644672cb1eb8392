// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.method;

import io.gpupool.soft.compile.ir.BasicBlock;
import io.gpupool.soft.compile.ir.Graph;
import io.gpupool.soft.compile.ir.Op;
import io.gpupool.soft.compile.ir.Terminator;
import io.gpupool.soft.compile.passes.Liveness;
import io.gpupool.soft.exec.launch.RegionTable;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collections;
import java.util.Deque;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The code from the kernel's start, or from the end of a wait, to the next waits. Code that can be
 * reached from several waits belongs to several regions.
 *
 * @param start block at which the threads begin; its number is the region's
 * @param blocks all blocks, each behind those that lead to it but for the turns of loops
 * @param turning latches that a thread may pass more than once before it leaves; where a loop holds
 *     a wait, each turn of it is another run of the region
 * @param exits numbers of the places at which threads may leave the region, 0 for their end
 * @param written registers that the region writes
 * @param touched registers that the region reads or writes
 */
public record Region(
    BasicBlock start,
    List<BasicBlock> blocks,
    Set<BasicBlock> turning,
    Set<Integer> exits,
    BitSet written,
    BitSet touched) {
  /** How many times the kernel's code all regions together may be, and what is free. */
  private static final int MAX_GROWTH = 3;

  private static final int FREE_WEIGHT = 20_000;

  /** Finds the regions of a kernel whose code fits in one method; none if there is no use. */
  public static List<Region> of(Graph graph, MethodPlan plan, int maxMethodBytes) {
    if (graph.hasCalls()) {
      return List.of();
    }
    List<Region> regions = new ArrayList<>();
    regions.add(from(graph.entry()));
    for (BasicBlock block : plan.resumable()) {
      if (waitBefore(block) != null) {
        regions.add(from(block));
      }
    }
    long all = 0;
    for (Region region : regions) {
      long weight = MethodPlan.weight(graph, region.blocks);
      all += weight;
      if (weight > maxMethodBytes) {
        return List.of();
      }
    }
    return all <= FREE_WEIGHT + MAX_GROWTH * MethodPlan.weight(graph, graph.order())
        ? List.copyOf(regions)
        : List.of();
  }

  private static Region from(BasicBlock start) {
    List<BasicBlock> blocks = new ArrayList<>();
    arrange(start, new HashSet<>(), blocks);
    Collections.reverse(blocks);
    Set<BasicBlock> turning = new HashSet<>();
    Set<Integer> exits = new TreeSet<>();
    for (BasicBlock block : blocks) {
      switch (block.terminator()) {
        case Terminator.Wait wait -> exits.add(wait.next().resumeId());
        case Terminator.Exit _ -> exits.add(0);
        case Terminator.Latch latch -> {
          if (comesBack(block)) {
            turning.add(block);
            if (latch.yields()) {
              exits.add(latch.next().resumeId());
            }
          }
        }
        default -> {}
      }
    }
    BitSet written = written(blocks);
    return new Region(
        start, List.copyOf(blocks), turning, exits, written, touched(blocks, written));
  }

  /** Where a thread may go on without leaving the region. */
  private static List<BasicBlock> next(BasicBlock block) {
    return block.terminator() instanceof Terminator.Wait
        ? List.of()
        : block.terminator().successors();
  }

  /** Adds what is reached from a block, each block behind those to which it leads. */
  private static void arrange(BasicBlock root, Set<BasicBlock> seen, List<BasicBlock> postorder) {
    record Open(BasicBlock block, Iterator<BasicBlock> next) {}
    Deque<Open> open = new ArrayDeque<>();
    seen.add(root);
    // Last successor first, so that the first one comes right behind its block in the end.
    open.push(new Open(root, next(root).reversed().iterator()));
    while (!open.isEmpty()) {
      Open top = open.peek();
      if (!top.next.hasNext()) {
        postorder.add(top.block);
        open.pop();
      } else {
        BasicBlock successor = top.next.next();
        if (seen.add(successor)) {
          open.push(new Open(successor, next(successor).reversed().iterator()));
        }
      }
    }
  }

  private static boolean comesBack(BasicBlock latch) {
    Set<BasicBlock> found = new HashSet<>();
    Deque<BasicBlock> open = new ArrayDeque<>(next(latch));
    while (!open.isEmpty()) {
      BasicBlock block = open.remove();
      if (block == latch) {
        return true;
      }
      if (found.add(block)) {
        open.addAll(next(block));
      }
    }
    return false;
  }

  private static BitSet written(List<BasicBlock> blocks) {
    BitSet written = new BitSet();
    for (BasicBlock block : blocks) {
      for (Op op : block.ops()) {
        op.results().stream()
            .filter(result -> result != null)
            .forEach(result -> written.set(result.id()));
      }
    }
    return written;
  }

  private static BitSet touched(List<BasicBlock> blocks, BitSet written) {
    BitSet touched = (BitSet) written.clone();
    for (BasicBlock block : blocks) {
      block.ops().forEach(op -> op.uses().forEach(use -> touched.set(use.id())));
      Liveness.usesOf(block.terminator()).forEach(use -> touched.set(use.id()));
    }
    return touched;
  }

  /** The wait that ends where a block begins; null if there is none. */
  static Terminator.@Nullable Wait waitBefore(BasicBlock block) {
    return block.predecessors().size() == 1
            && block.predecessors().getFirst().terminator() instanceof Terminator.Wait wait
        ? wait
        : null;
  }

  /** What the threads' scheduler must know about the regions. */
  public static RegionTable table(List<Region> regions, MethodPlan plan) {
    if (regions.isEmpty()) {
      return RegionTable.EMPTY;
    }
    int places = plan.resumable().size() + 1;
    byte[] waits = new byte[places];
    int[] codes = new int[places];
    boolean[] wide = new boolean[places];
    waits[0] = RegionTable.START;
    for (BasicBlock block : plan.resumable()) {
      Terminator.Wait wait = waitBefore(block);
      if (wait != null) {
        waits[block.resumeId()] = WarpCode.kind(wait.op());
        codes[block.resumeId()] = WarpCode.number(wait.op());
      }
    }
    for (Region region : regions) {
      int place = region.start.resumeId();
      wide[place] = region.exits.stream().noneMatch(exit -> waits[exit] == RegionTable.WARP);
    }
    return new RegionTable(waits, codes, wide);
  }
}
