// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.block;

import io.gpupool.soft.exec.matrix.Matrices;
import java.util.Arrays;

/**
 * Warp-wide operations: lanes arrive one by one, each leaving what it brings; the last one works
 * out everybody's result. Owned by the worker thread that runs the block.
 *
 * <p>Lanes belong together if they bring the same operation and the same mask, wherever in the code
 * they are. An operation without mask, such as {@code activemask}, takes in the lanes that have
 * come to the same place by the time that no other lane of the warp can move.
 */
final class WarpOperations {
  /** Lanes of one warp that have arrived at one operation. */
  private static final class Group {
    private int operation;
    private int mask;
    private int place;
    private int arrived;
  }

  private final ThreadScheduler scheduler;
  private int[] alive = new int[0];
  private Group[][] groups = new Group[0][];
  private int[] groupCount = new int[0];
  private int converging;
  private long[] values = new long[0];
  private int[] arguments = new int[0];
  private int[] controls = new int[0];
  private int[] masks = new int[0];
  private int warpCount;

  WarpOperations(ThreadScheduler scheduler) {
    this.scheduler = scheduler;
  }

  void size(int threads) {
    warpCount = threads + ThreadBlock.WARP - 1 >> 5;
    if (alive.length < warpCount) {
      int before = alive.length;
      alive = new int[warpCount];
      groupCount = new int[warpCount];
      groups = Arrays.copyOf(groups, warpCount);
      for (int warp = before; warp < warpCount; warp++) {
        groups[warp] = new Group[ThreadBlock.WARP];
      }
      values = new long[warpCount * ThreadBlock.WARP];
      arguments = new int[warpCount * ThreadBlock.WARP];
      controls = new int[warpCount * ThreadBlock.WARP];
      masks = new int[warpCount * ThreadBlock.WARP];
    }
  }

  void begin() {
    Arrays.fill(alive, 0, warpCount, -1);
    int last = scheduler.threads() & ThreadBlock.WARP - 1;
    if (last != 0) {
      alive[warpCount - 1] = (1 << last) - 1;
    }
    Arrays.fill(groupCount, 0, warpCount, 0);
    converging = 0;
  }

  /** Lanes of a warp that have not ended. */
  int alive(int warp) {
    return alive[warp];
  }

  /** Keeps what a thread brings to an operation for which its warp comes together. */
  void bring(int thread, int mask, long value, int argument, int control) {
    masks[thread] = mask;
    values[thread] = value;
    arguments[thread] = argument;
    controls[thread] = control;
  }

  /** Lanes with which a thread that has brought its value belongs together. */
  int mask(int thread) {
    return masks[thread];
  }

  /** Works out an operation to which these lanes of a warp have brought their values. */
  void compute(int warp, int operation, int lanes) {
    int first = warp * ThreadBlock.WARP;
    if (Matrices.knows(operation)) {
      scheduler.matrices().compute(operation, first, lanes);
    } else {
      WarpResults.compute(scheduler, first, operation, lanes, values, arguments, controls);
    }
  }

  /** The thread arrives with what it has brought. */
  void arriveAsBrought(int thread, int operation) {
    arrive(thread, operation, masks[thread], values[thread], arguments[thread], controls[thread]);
  }

  /** Returns whether all have come and the thread goes on at once. */
  boolean arrive(int thread, int operation, int mask, long value, int argument, int control) {
    values[thread] = value;
    arguments[thread] = argument;
    controls[thread] = control;
    scheduler.state(thread, ThreadScheduler.AT_WARP);
    int warp = thread >> 5;
    int bit = 1 << (thread & 31);
    int lanes = mask == 0 ? 0 : mask | bit;
    int place = mask == 0 ? control : 0;
    int index = find(warp, operation, lanes, place);
    Group group = groups[warp][index];
    group.arrived |= bit;
    if (mask == 0 || group.arrived != (lanes & alive[warp])) {
      return false;
    }
    complete(warp, index);
    // The lanes go on in their order, as if together; the last one to come does not run ahead.
    int first = warp * ThreadBlock.WARP + Integer.numberOfTrailingZeros(group.arrived);
    if (first == thread && scheduler.runsAhead()) {
      return true;
    }
    scheduler.goBackTo(first);
    return false;
  }

  private int find(int warp, int operation, int mask, int place) {
    int count = groupCount[warp];
    for (int i = 0; i < count; i++) {
      Group group = groups[warp][i];
      if (group.mask == mask && group.operation == operation && group.place == place) {
        return i;
      }
    }
    Group group = groups[warp][count];
    if (group == null) {
      group = new Group();
      groups[warp][count] = group;
    }
    group.operation = operation;
    group.mask = mask;
    group.place = place;
    group.arrived = 0;
    groupCount[warp] = count + 1;
    if (mask == 0) {
      converging++;
    }
    return count;
  }

  /** A thread ended; operations wait for its lane no longer. */
  void ended(int thread) {
    int warp = thread >> 5;
    alive[warp] &= ~(1 << (thread & 31));
    for (int i = groupCount[warp] - 1; i >= 0; i--) {
      Group group = groups[warp][i];
      if (group.mask != 0 && group.arrived == (group.mask & alive[warp])) {
        complete(warp, i);
      }
    }
  }

  /**
   * Completes operations without mask in warps where nobody else can move.
   *
   * @param stuck complete them also where others only spin
   * @return whether any was completed
   */
  boolean releaseConverged(boolean stuck) {
    if (converging == 0) {
      return false;
    }
    boolean released = false;
    for (int warp = 0; warp < warpCount; warp++) {
      int chosen = -1;
      for (int i = 0; i < groupCount[warp]; i++) {
        Group group = groups[warp][i];
        if (group.mask == 0 && (chosen < 0 || group.place < groups[warp][chosen].place)) {
          chosen = i;
        }
      }
      if (chosen >= 0 && (stuck || !anyReady(warp))) {
        complete(warp, chosen);
        released = true;
      }
    }
    return released;
  }

  private boolean anyReady(int warp) {
    int first = warp * ThreadBlock.WARP;
    int end = Math.min(first + ThreadBlock.WARP, scheduler.threads());
    for (int thread = first; thread < end; thread++) {
      if (scheduler.state(thread) == ThreadScheduler.READY) {
        return true;
      }
    }
    return false;
  }

  private void complete(int warp, int index) {
    Group group = groups[warp][index];
    int last = --groupCount[warp];
    groups[warp][index] = groups[warp][last];
    groups[warp][last] = group;
    if (group.mask == 0) {
      converging--;
    }
    compute(warp, group.operation, group.arrived);
    for (int rest = group.arrived; rest != 0; rest &= rest - 1) {
      scheduler.state(
          warp * ThreadBlock.WARP + Integer.numberOfTrailingZeros(rest), ThreadScheduler.READY);
    }
  }
}
