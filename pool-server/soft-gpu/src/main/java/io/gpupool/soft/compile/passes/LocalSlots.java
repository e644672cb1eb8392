// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.passes;

import static java.util.Objects.requireNonNull;

import io.gpupool.soft.compile.ir.BasicBlock;
import io.gpupool.soft.compile.ir.Graph;
import io.gpupool.soft.compile.ir.JvmKind;
import io.gpupool.soft.compile.ir.Op;
import io.gpupool.soft.compile.ir.RefusedException;
import io.gpupool.soft.compile.ir.VReg;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Comparator;
import java.util.Deque;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;

/**
 * Assignment of JVM locals and frame offsets by linear scan over the block order. A local is only
 * ever used with one kind, so that a block can be entered with any earlier value in it.
 */
public final class LocalSlots {
  /** From the first to the last position at which a register is live. */
  private static final class Interval {
    private final VReg register;
    private int start = Integer.MAX_VALUE;
    private int end = -1;

    Interval(VReg register) {
      this.register = register;
    }

    void cover(int position) {
      start = Math.min(start, position);
      end = Math.max(end, position);
    }
  }

  private final Map<JvmKind, Deque<Integer>> free = new EnumMap<>(JvmKind.class);
  private final Map<JvmKind, Deque<Integer>> freeInFrame = new EnumMap<>(JvmKind.class);
  private final List<Integer> frameOffsets = new ArrayList<>();
  private int nextLocal;
  private int frameBytes;

  private LocalSlots(int firstLocal) {
    nextLocal = firstLocal;
    for (JvmKind kind : JvmKind.values()) {
      free.put(kind, new ArrayDeque<>());
      freeInFrame.put(kind, new ArrayDeque<>());
    }
  }

  /**
   * Assigns.
   *
   * @param firstLocal first JVM local that is free
   * @return bytes of a thread's frame
   */
  public static int assign(Graph graph, int firstLocal) {
    return new LocalSlots(firstLocal).run(graph);
  }

  private int run(Graph graph) {
    List<Interval> intervals = intervals(graph);
    intervals.sort(Comparator.comparingInt(interval -> interval.start));
    PriorityQueue<Interval> active =
        new PriorityQueue<>(Comparator.comparingInt(interval -> interval.end));
    for (Interval interval : intervals) {
      while (!active.isEmpty() && active.peek().end < interval.start) {
        VReg done = active.remove().register;
        if (done.inFrame()) {
          requireNonNull(freeInFrame.get(done.kind())).push(done.frameOffset());
        } else {
          requireNonNull(free.get(done.kind())).push(done.local());
        }
      }
      take(interval.register);
      active.add(interval);
    }
    return -(-frameBytes & -8);
  }

  private void take(VReg register) {
    JvmKind kind = register.kind();
    if (register.inFrame()) {
      Deque<Integer> offsets = requireNonNull(freeInFrame.get(kind));
      register.frameOffset(offsets.isEmpty() ? newFrameOffset(kind) : offsets.pop());
      return;
    }
    if (requireNonNull(free.get(kind)).isEmpty()) {
      register.local(nextLocal);
      nextLocal += kind.typeKind().slotSize();
      if (nextLocal > MAX_LOCALS) {
        throw new RefusedException("more values live at once than fit in a JVM frame");
      }
      while (frameOffsets.size() <= register.local()) {
        frameOffsets.add(-1);
      }
      frameOffsets.set(register.local(), newFrameOffset(kind));
    } else {
      register.local(free.get(kind).pop());
    }
    register.frameOffset(frameOffsets.get(register.local()));
  }

  private int newFrameOffset(JvmKind kind) {
    int offset = -(-frameBytes & -kind.bytes());
    frameBytes = offset + kind.bytes();
    return offset;
  }

  private static final int MAX_LOCALS = 60_000;

  private static List<Interval> intervals(Graph graph) {
    Interval[] byRegister = new Interval[graph.registers().size()];
    int position = 0;
    for (BasicBlock block : graph.order()) {
      int begin = position;
      for (Op op : block.ops()) {
        position++;
        for (VReg use : op.uses()) {
          interval(byRegister, use).cover(position);
        }
        for (VReg result : op.results()) {
          if (result != null) {
            interval(byRegister, result).cover(position);
          }
        }
      }
      position++;
      for (VReg use : Liveness.usesOf(block.terminator())) {
        interval(byRegister, use).cover(position);
      }
      coverAll(graph, byRegister, block.liveIn(), begin);
      coverAll(graph, byRegister, Liveness.liveOut(block), position);
      position++;
    }
    List<Interval> intervals = new ArrayList<>();
    for (Interval interval : byRegister) {
      if (interval != null) {
        intervals.add(interval);
      }
    }
    return intervals;
  }

  private static void coverAll(Graph graph, Interval[] byRegister, BitSet live, int position) {
    live.stream().forEach(id -> interval(byRegister, graph.registers().get(id)).cover(position));
  }

  private static Interval interval(Interval[] byRegister, VReg register) {
    if (byRegister[register.id()] == null) {
      byRegister[register.id()] = new Interval(register);
    }
    return byRegister[register.id()];
  }
}
