// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.block;

import io.gpupool.soft.exec.launch.RegionTable;
import java.util.Arrays;

/**
 * The engine of blocks whose warps each stand at one place. It runs them region by region: a warp
 * at a time up to the next barrier, all at once where no operation of a warp is met. What does not
 * fit, threads of a warp that go different ways above all, is left to {@link ThreadScheduler},
 * thread by thread. Owned by the worker thread that runs the block.
 */
final class RegionRunner {
  private static final int ENDED = -1;

  /** Operations after which a warp, which may be waiting for others, lets them run. */
  private static final int MAX_TURNS = 4096;

  private final ThreadBlock block;
  private final ThreadScheduler scheduler;

  /** Place of each warp. */
  private int[] at = new int[0];

  private RegionTable table = RegionTable.EMPTY;
  private int warps;
  private boolean ready;
  private boolean apart;

  /** Operations of the warp that ran last, since it began to run. */
  private int turns;

  RegionRunner(ThreadBlock block, ThreadScheduler scheduler) {
    this.block = block;
    this.scheduler = scheduler;
  }

  void size(int threads, RegionTable regions) {
    table = regions;
    warps = threads + ThreadBlock.WARP - 1 >> 5;
    if (at.length < warps) {
      at = new int[warps];
    }
    if (!regions.isEmpty() && block.places.length < threads) {
      block.places = new int[threads];
    }
  }

  void begin() {
    ready = !table.isEmpty();
    Arrays.fill(at, 0, warps, 0);
  }

  /** Whether all warps are known to stand at one place each. */
  boolean isReady() {
    return ready;
  }

  boolean hasRegions() {
    return !table.isEmpty();
  }

  /** Looks whether the threads of each warp have come together again. */
  boolean gather() {
    ready = hasRegions();
    for (int warp = 0; warp < warps && ready; warp++) {
      boolean ended = scheduler.state(first(warp)) == ThreadScheduler.ENDED;
      at[warp] = ended ? ENDED : scheduler.resumePoint(first(warp));
      ready = ended ? hasEnded(warp) : canResume(first(warp));
    }
    return ready;
  }

  private boolean hasEnded(int warp) {
    for (int thread = first(warp); thread < end(warp); thread++) {
      if (scheduler.state(thread) != ThreadScheduler.ENDED) {
        return false;
      }
    }
    return true;
  }

  /** Whether all threads of a warp can go on, from one place at which a region begins. */
  boolean canResume(int first) {
    int place = scheduler.resumePoint(first);
    if (!hasRegions() || table.waits()[place] == RegionTable.NONE) {
      return false;
    }
    int end = end(first >> 5);
    for (int thread = first; thread < end; thread++) {
      if (scheduler.state(thread) != ThreadScheduler.READY
          || scheduler.resumePoint(thread) != place) {
        return false;
      }
    }
    return true;
  }

  /** Runs a warp whose threads stand at one place to where they wait for others or part. */
  ThreadScheduler.Round resume(KernelCode code, int first) {
    block.throwIfStopped();
    int warp = first >> 5;
    at[warp] = scheduler.resumePoint(first);
    int next = runWarp(code, warp);
    apart = next < 0;
    if (!apart) {
      Arrays.fill(block.places, first, end(warp), next);
    }
    handOver(first, end(warp));
    return apart || hasMoved(first, next)
        ? ThreadScheduler.Round.MOVED
        : ThreadScheduler.Round.SPUN;
  }

  /** Whether a warp that was run to a place did more than spin. */
  private boolean hasMoved(int first, int place) {
    return place == 0
        || switch (table.waits()[place]) {
          case RegionTable.BARRIER -> true;
          case RegionTable.WARP -> turns < MAX_TURNS;
          default -> scheduler.state(first) != ThreadScheduler.READY;
        };
  }

  /** Whether the threads of the warp that was resumed last went different ways. */
  boolean isApart() {
    return apart;
  }

  /** Runs until all threads have ended (true) or have gone different ways (false). */
  boolean run(KernelCode code) {
    ready = false;
    block.yieldTurns = ThreadBlock.YIELD_TURNS;
    int common = common();
    while (true) {
      block.throwIfStopped();
      if (common >= 0 && table.wide()[common]) {
        int next = code.runRegion(block, common, 0, 0, 0, 0, scheduler.threads());
        if (next > 0 && table.waits()[next] == RegionTable.BARRIER) {
          common = next;
          continue;
        }
        if (!settle(next)) {
          return false;
        }
      } else {
        if (common >= 0) {
          Arrays.fill(at, 0, warps, common);
        }
        if (!runWarps(code)) {
          return false;
        }
      }
      common = common();
      if (common == ENDED) {
        return true;
      }
      if (!atOneBarrier()) {
        scatter(false);
        return false;
      }
    }
  }

  /** The place of all warps, {@link #ENDED} also where all have ended; else -2. */
  private int common() {
    int first = at[0];
    for (int warp = 1; warp < warps; warp++) {
      if (at[warp] != first) {
        return -2;
      }
    }
    return first;
  }

  private boolean atOneBarrier() {
    int barrier = -1;
    for (int warp = 0; warp < warps; warp++) {
      int place = at[warp];
      if (place != ENDED) {
        if (table.waits()[place] != RegionTable.BARRIER) {
          return false;
        }
        if (barrier >= 0 && barrier != table.codes()[place]) {
          return false;
        }
        barrier = table.codes()[place];
      }
    }
    return true;
  }

  /** After a region for all threads: whether each warp still stands at one place. */
  private boolean settle(int next) {
    if (next == 0) {
      Arrays.fill(at, 0, warps, ENDED);
      return true;
    }
    if (next > 0) {
      Arrays.fill(at, 0, warps, next);
      scatter(false);
      return false;
    }
    for (int warp = 0; warp < warps; warp++) {
      int place = block.places[first(warp)];
      for (int thread = first(warp) + 1; thread < end(warp); thread++) {
        if (block.places[thread] != place) {
          scatter(true);
          return false;
        }
      }
      at[warp] = place == 0 ? ENDED : place;
    }
    return true;
  }

  /** Runs each warp to its next barrier; false if one of them went different ways. */
  private boolean runWarps(KernelCode code) {
    boolean together = true;
    for (int warp = 0; warp < warps; warp++) {
      if (at[warp] != ENDED) {
        int next = runWarp(code, warp);
        if (next < 0) {
          together = false;
          at[warp] = -2;
        } else {
          at[warp] = next == 0 ? ENDED : next;
        }
      }
    }
    if (!together) {
      scatter(false);
    }
    return together;
  }

  private int runWarp(KernelCode code, int warp) {
    int first = first(warp);
    int x = first % block.ntidX;
    int y = first / block.ntidX % block.ntidY;
    int z = first / block.ntidX / block.ntidY;
    int next = at[warp];
    turns = 0;
    do {
      next = code.runRegion(block, next, first, x, y, z, end(warp));
    } while (next > 0
        && table.waits()[next] == RegionTable.WARP
        && ++turns < MAX_TURNS
        && exchange(warp, next));
    return next;
  }

  /** Works out an operation of a warp all of whose threads have come; false if more is needed. */
  private boolean exchange(int warp, int place) {
    int first = first(warp);
    int rest = scheduler.warpOperations().alive(warp);
    if (allFull(first, end(warp))) {
      scheduler.warpOperations().compute(warp, table.codes()[place], rest);
      return true;
    }
    int all = rest;
    while (rest != 0) {
      int mask = mask(first, rest) & all;
      for (int lanes = mask; lanes != 0; lanes &= lanes - 1) {
        int other = mask(first, lanes) & all;
        if (other != mask) {
          return false;
        }
      }
      if ((mask & rest & -rest) == 0) {
        return false;
      }
      rest &= ~mask;
    }
    for (rest = all; rest != 0; ) {
      int mask = mask(first, rest) & all;
      scheduler.warpOperations().compute(warp, table.codes()[place], mask);
      rest &= ~mask;
    }
    return true;
  }

  private int mask(int first, int lanes) {
    return scheduler.warpOperations().mask(first + Integer.numberOfTrailingZeros(lanes));
  }

  private boolean allFull(int first, int end) {
    int same = -1;
    for (int thread = first; thread < end; thread++) {
      same &= scheduler.warpOperations().mask(thread);
    }
    return same == -1;
  }

  /**
   * Hands the threads over to {@link ThreadScheduler}: those that have ended, those at a barrier or
   * an operation of a warp, of which it knows nothing yet.
   *
   * @param apart every thread's place is known, not only those of warps that went different ways
   */
  private void scatter(boolean apart) {
    for (int warp = 0; warp < warps && !apart; warp++) {
      if (at[warp] != -2) {
        Arrays.fill(block.places, first(warp), end(warp), at[warp] == ENDED ? 0 : at[warp]);
      }
    }
    handOver(0, scheduler.threads());
  }

  /** Has {@link ThreadScheduler} know the places of threads that left their regions. */
  private void handOver(int first, int end) {
    for (int thread = first; thread < end; thread++) {
      if (scheduler.state(thread) != ThreadScheduler.ENDED) {
        scheduler.leaveAt(thread, block.places[thread]);
      }
    }
    for (int thread = first; thread < end; thread++) {
      if (scheduler.state(thread) == ThreadScheduler.READY) {
        int place = block.places[thread];
        switch (table.waits()[place]) {
          case RegionTable.BARRIER -> scheduler.barriers().arriveAll(thread, table.codes()[place]);
          case RegionTable.WARP ->
              scheduler.warpOperations().arriveAsBrought(thread, table.codes()[place]);
          default -> {}
        }
      }
    }
    // None of them runs ahead.
    scheduler.goBackTo(-1);
  }

  private static int first(int warp) {
    return warp * ThreadBlock.WARP;
  }

  private int end(int warp) {
    return Math.min(first(warp) + ThreadBlock.WARP, scheduler.threads());
  }
}
