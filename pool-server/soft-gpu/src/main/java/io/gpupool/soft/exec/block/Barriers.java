// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.block;

import io.gpupool.soft.exec.launch.DeviceFaultException;
import io.gpupool.soft.exec.launch.KernelFaultException;
import java.util.Arrays;

/** The sixteen barriers of a block. Owned by the worker thread that runs the block. */
final class Barriers {
  static final int NONE = 0;
  static final int POPC = 1;
  static final int AND = 2;
  static final int OR = 3;

  private static final int COUNT = 16;

  private final ThreadScheduler scheduler;
  private final int[] arrived = new int[COUNT];
  private final int[] expected = new int[COUNT];
  private final int[] trueCount = new int[COUNT];
  private final int[] reduction = new int[COUNT];
  private final int[] touched = new int[COUNT];
  private byte[] barrierOf = new byte[0];

  /** Lanes of each warp that have come to each barrier that has a thread count. */
  private int[][] byWarp = new int[COUNT][0];

  private boolean inUse;
  private boolean released;

  Barriers(ThreadScheduler scheduler) {
    this.scheduler = scheduler;
  }

  void size(int threads) {
    if (barrierOf.length < threads) {
      barrierOf = new byte[threads];
    }
  }

  void begin() {
    released = false;
    if (inUse) {
      for (int id = 0; id < COUNT; id++) {
        reset(id);
      }
      inUse = false;
    }
  }

  /** Whether threads have been released since this was asked last. */
  boolean wereReleased() {
    boolean were = released;
    released = false;
    return were;
  }

  /** As above, and they stay so. */
  boolean areReleased() {
    return released;
  }

  /** Arrival at a barrier for all threads; returns whether the thread was the last one. */
  boolean arriveAll(int thread, int id) {
    if (arrived[id]++ == 0) {
      inUse = true;
      touched[id] = 1;
    }
    barrierOf[thread] = (byte) id;
    scheduler.state(thread, ThreadScheduler.AT_BARRIER);
    if (expected[id] == 0 && arrived[id] < scheduler.alive()) {
      return false;
    }
    if (isComplete(id)) {
      release(id);
      return true;
    }
    return false;
  }

  /** Returns whether the thread was the last one and need not wait. */
  boolean arrive(int thread, int id, int count, int operation, int value) {
    count(thread, id, count);
    if (value != 0) {
      trueCount[id]++;
    }
    reduction[id] = operation;
    barrierOf[thread] = (byte) id;
    scheduler.state(thread, ThreadScheduler.AT_BARRIER);
    if (isComplete(id)) {
      release(id);
      return true;
    }
    return false;
  }

  void arriveOnly(int thread, int id, int count) {
    count(thread, id, count);
    if (isComplete(id)) {
      release(id);
    }
  }

  private void count(int thread, int id, int count) {
    if (id < 0 || id >= COUNT || count < 0 || count > 1024 + 31) {
      throw new DeviceFaultException(
          KernelFaultException.ILLEGAL_INSTRUCTION, "barrier " + id + " for " + count + " threads");
    }
    inUse = true;
    arrived[id]++;
    expected[id] = count;
    touched[id] = 1;
    if (count > 0) {
      int warps = scheduler.threads() + ThreadBlock.WARP - 1 >> 5;
      if (byWarp[id].length < warps) {
        byWarp[id] = Arrays.copyOf(byWarp[id], warps);
      }
      byWarp[id][thread >> 5] |= 1 << (thread & 31);
    }
  }

  /** A thread ended; barriers for all threads expect one less. */
  void ended() {
    for (int id = 0; id < COUNT && inUse; id++) {
      if (touched[id] != 0 && isComplete(id)) {
        release(id);
      }
    }
  }

  private boolean isComplete(int id) {
    if (expected[id] == 0) {
      return arrived[id] >= scheduler.alive();
    }
    if (arrived[id] >= expected[id]) {
      return true;
    }
    // Barriers count whole warps: lanes that do not exist, or have ended, count as having come.
    int total = 0;
    int warps = Math.min(byWarp[id].length, scheduler.threads() + ThreadBlock.WARP - 1 >> 5);
    for (int warp = 0; warp < warps; warp++) {
      int lanes = byWarp[id][warp];
      if (lanes != 0) {
        total += Integer.bitCount(lanes | ~scheduler.warpOperations().alive(warp));
      }
    }
    return total >= expected[id];
  }

  private void release(int id) {
    int result =
        switch (reduction[id]) {
          case POPC -> trueCount[id];
          case AND -> trueCount[id] >= arrived[id] ? 1 : 0;
          case OR -> trueCount[id] > 0 ? 1 : 0;
          default -> 0;
        };
    released = true;
    boolean reduces = reduction[id] != NONE;
    int threads = scheduler.threads();
    for (int thread = 0; thread < threads; thread++) {
      if (scheduler.state(thread) == ThreadScheduler.AT_BARRIER && barrierOf[thread] == id) {
        scheduler.state(thread, ThreadScheduler.READY);
        if (reduces) {
          scheduler.result(thread, result, result);
        }
      }
    }
    reset(id);
  }

  private void reset(int id) {
    arrived[id] = 0;
    expected[id] = 0;
    trueCount[id] = 0;
    reduction[id] = NONE;
    touched[id] = 0;
    Arrays.fill(byWarp[id], 0);
  }
}
