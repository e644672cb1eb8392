// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.block;

import io.gpupool.soft.exec.launch.DeviceFaultException;
import io.gpupool.soft.exec.launch.KernelFaultException;
import io.gpupool.soft.exec.matrix.Matrices;
import java.util.Arrays;

/**
 * The scheduler of the threads of a block that wait for each other. It runs every thread that can
 * go on, over and over, until all have ended. Owned by the worker thread that runs the block.
 */
final class ThreadScheduler {
  static final byte READY = 0;
  static final byte AT_BARRIER = 1;
  static final byte AT_WARP = 2;
  static final byte ENDED = 3;

  /** Rounds in which threads only spun, after which the block is set aside. */
  private static final int IDLE_ROUNDS = 64;

  /** The same where blocks are known to wait for each other. */
  private static final int COOPERATIVE_IDLE_ROUNDS = 1;

  private final ThreadBlock block;
  private final Barriers barriers = new Barriers(this);
  private final ClusterArrivals cluster = new ClusterArrivals(this);
  private final WarpOperations warpOperations = new WarpOperations(this);
  private final RegionRunner regionRunner;
  private byte[] states = new byte[0];
  private boolean[] spun = new boolean[0];
  private int[] resume = new int[0];
  private long[] results = new long[0];
  private int[] predicates = new int[0];
  private int[] depths = new int[0];
  private int[] returns = new int[0];
  private int maxDepth = 1;
  private int threads;
  private int alive;

  /** Thread to run next, since its warp can go on; -1 to take them in turn. */
  private int goBackTo = -1;

  /** Whether another block has let threads of this one go on. */
  private boolean woken;

  private boolean moved;
  private boolean stood;

  ThreadScheduler(ThreadBlock block) {
    this.block = block;
    regionRunner = new RegionRunner(block, this);
  }

  /** Makes room for the threads of a block. */
  void size(int count, CompiledKernel kernel) {
    int depth = kernel.memory().maxDepth();
    threads = count;
    maxDepth = depth;
    if (depth > 1) {
      if (depths.length < count) {
        depths = new int[count];
      }
      if (returns.length < count * (depth - 1)) {
        returns = new int[count * (depth - 1)];
      }
    }
    if (states.length < count) {
      states = new byte[count];
      spun = new boolean[count];
      resume = new int[count];
      results = new long[count];
      predicates = new int[count];
    }
    barriers.size(count);
    warpOperations.size(count);
    regionRunner.size(count, kernel.regions());
  }

  /** All threads stand at the kernel's start. */
  void begin() {
    alive = threads;
    for (int thread = 0; thread < threads; thread++) {
      states[thread] = READY;
      spun[thread] = false;
      resume[thread] = 0;
    }
    if (maxDepth > 1) {
      Arrays.fill(depths, 0, threads, 0);
    }
    barriers.begin();
    cluster.begin();
    warpOperations.begin();
    regionRunner.begin();
    woken = false;
  }

  /** Threads that waited for another block of the cluster can go on. */
  void wake() {
    woken = true;
  }

  /** Whether the last {@link #advance} did more than to let threads spin. */
  boolean hasMoved() {
    return moved;
  }

  /** Whether no thread could run at the end of the last {@link #advance}. */
  boolean hasStood() {
    return stood;
  }

  int depth(int thread) {
    return depths[thread];
  }

  void enter(int thread, int returnTo) {
    int depth = depths[thread];
    if (depth + 1 >= maxDepth) {
      throw new DeviceFaultException(
          KernelFaultException.LAUNCH_FAILED,
          "stack overflow: more than " + maxDepth + " nested calls");
    }
    returns[thread * (maxDepth - 1) + depth] = returnTo;
    depths[thread] = depth + 1;
  }

  int leave(int thread) {
    int depth = --depths[thread];
    return returns[thread * (maxDepth - 1) + depth];
  }

  /**
   * Whether the last thread to come to a wait goes on at once; not where those who waited may go on
   * together.
   */
  boolean runsAhead() {
    return !regionRunner.hasRegions();
  }

  Matrices matrices() {
    return block.matrices();
  }

  Barriers barriers() {
    return barriers;
  }

  ClusterArrivals cluster() {
    return cluster;
  }

  WarpOperations warpOperations() {
    return warpOperations;
  }

  int threads() {
    return threads;
  }

  int alive() {
    return alive;
  }

  byte state(int thread) {
    return states[thread];
  }

  void state(int thread, byte state) {
    states[thread] = state;
  }

  int resumePoint(int thread) {
    return resume[thread];
  }

  void result(int thread, long value, int predicate) {
    results[thread] = value;
    predicates[thread] = predicate;
  }

  /** Where the results of operations lie, for code that stores many of them. */
  long[] results() {
    return results;
  }

  int[] predicates() {
    return predicates;
  }

  long result(int thread) {
    return results[thread];
  }

  int predicate(int thread) {
    return predicates[thread];
  }

  /** Lets a thread before the running one run next. */
  void goBackTo(int thread) {
    goBackTo = thread;
  }

  /** Runs threads until all have ended (true), or only spin or wait for other blocks (false). */
  boolean advance(KernelCode code) {
    int idle = 0;
    boolean others = block.grid().launch().cooperative() || block.cluster().shape().blocks() > 1;
    int patience = others ? COOPERATIVE_IDLE_ROUNDS : IDLE_ROUNDS;
    moved = false;
    stood = false;
    while (true) {
      if (woken) {
        woken = false;
        regionRunner.gather();
      }
      if (regionRunner.isReady()) {
        moved = true;
        if (regionRunner.run(code)) {
          return true;
        }
      }
      if (barriers.wereReleased() && regionRunner.gather()) {
        continue;
      }
      block.throwIfStopped();
      Round round = round(code);
      if (alive == 0) {
        return true;
      }
      boolean released = warpOperations.releaseConverged(round != Round.MOVED);
      if (round == Round.MOVED || released) {
        idle = 0;
        moved = true;
      } else if (round == Round.STOOD && !woken) {
        requireOthers();
        stood = true;
        return false;
      } else if (++idle > patience) {
        return false;
      }
    }
  }

  /** No thread can go on by itself: that is right as long as one waits for other blocks. */
  private void requireOthers() {
    if (block.cluster().shape().blocks() == 1 || !cluster.isWaitedFor()) {
      throw new DeviceFaultException(
          KernelFaultException.LAUNCH_TIMEOUT,
          "deadlock: all "
              + alive
              + " remaining threads of a block wait at barriers or warp operations");
    }
  }

  /** How often a warp goes on before others have their turn, for which it may be waiting. */
  private static final int MAX_GO_BACKS = 64;

  /** What came of a turn of some threads; a later one outweighs those before it. */
  enum Round {
    /** No thread could run. */
    STOOD,
    /** Threads ran, but only spun. */
    SPUN,
    /** Some thread ended or came to a wait. */
    MOVED;

    Round and(Round other) {
      return compareTo(other) < 0 ? other : this;
    }
  }

  private Round round(KernelCode code) {
    Round round = Round.STOOD;
    for (int first = 0; first < threads && !regionRunner.isReady(); first += ThreadBlock.WARP) {
      round = round.and(turn(code, first, Math.min(first + ThreadBlock.WARP, threads)));
      if (regionRunner.hasRegions() && barriers.wereReleased()) {
        regionRunner.gather();
        round = Round.MOVED;
      }
    }
    return round;
  }

  /** Runs the threads of a warp that can go on, together while they stand at one place. */
  private Round turn(KernelCode code, int first, int end) {
    Round round = Round.STOOD;
    int goBacks = MAX_GO_BACKS;
    goBackTo = -1;
    int x = first % block.ntidX;
    int y = first / block.ntidX % block.ntidY;
    int z = first / block.ntidX / block.ntidY;
    for (int thread = first; thread < end; thread++) {
      if (thread == first && regionRunner.canResume(first)) {
        block.yieldTurns = yieldTurns(first);
        round = round.and(regionRunner.resume(code, first));
        if (!regionRunner.isApart()) {
          return round;
        }
      }
      if (states[thread] == READY) {
        round = round.and(runAlone(code, thread, x, y, z));
        if (regionRunner.hasRegions() && barriers.areReleased()) {
          // The others of the warp may go on together with this one.
          return Round.MOVED;
        }
      }
      if (goBackTo >= 0) {
        round = Round.MOVED;
        if (goBacks-- > 0) {
          thread = goBackTo - 1;
          x = goBackTo % block.ntidX - 1;
          y = goBackTo / block.ntidX % block.ntidY;
          z = goBackTo / block.ntidX / block.ntidY;
        }
        goBackTo = -1;
      }
      if (++x == block.ntidX) {
        x = 0;
        if (++y == block.ntidY) {
          y = 0;
          z++;
        }
      }
    }
    return round;
  }

  private int yieldTurns(int thread) {
    return spun[thread] ? ThreadBlock.YIELD_TURNS_AGAIN : ThreadBlock.YIELD_TURNS;
  }

  private Round runAlone(KernelCode code, int thread, int x, int y, int z) {
    block.yieldTurns = yieldTurns(thread);
    int next = code.run(block, thread, x, y, z, resume[thread]);
    spun[thread] = states[thread] == READY && goBackTo < 0;
    if (next == 0) {
      end(thread);
      return Round.MOVED;
    }
    resume[thread] = next;
    return states[thread] == READY ? Round.SPUN : Round.MOVED;
  }

  /** A thread that was run with others stands at a place now, or has ended. */
  void leaveAt(int thread, int place) {
    resume[thread] = place;
    if (place == 0) {
      end(thread);
    } else {
      spun[thread] = states[thread] == READY;
    }
    goBackTo = -1;
  }

  private void end(int thread) {
    states[thread] = ENDED;
    alive--;
    if (alive > 0) {
      warpOperations.ended(thread);
      barriers.ended();
    }
    cluster.ended(thread);
  }
}
