// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec;

import io.gpupool.soft.exec.block.BlockCluster;
import io.gpupool.soft.exec.block.BlockPool;
import io.gpupool.soft.exec.block.CompiledKernel;
import io.gpupool.soft.exec.block.Grid;
import io.gpupool.soft.exec.block.ThreadBlock;
import io.gpupool.soft.exec.launch.BlockTime;
import io.gpupool.soft.exec.launch.DeviceFaultException;
import io.gpupool.soft.exec.launch.DeviceTime;
import io.gpupool.soft.exec.launch.KernelFaultException;
import io.gpupool.soft.exec.launch.Launch;
import java.util.Deque;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The work of a grid, shared out to worker threads. They enter, run some blocks, and leave; the
 * last one to leave a grid with nothing left to do completes it.
 */
final class GridTask implements DeviceTime.Use {
  /** Blocks taken at once; small enough that a slice stays short. */
  private static final int MAX_BATCH = 32;

  private final Grid grid;
  private final CompiledKernel kernel;
  private final Launch launch;
  private final DeviceTime time;
  private final long clusters;
  private final Runnable wakeOthers;
  private final AtomicLong next = new AtomicLong();
  private final AtomicLong unfinished;
  private final AtomicInteger inside = new AtomicInteger();
  private final AtomicReference<@Nullable KernelFaultException> fault = new AtomicReference<>();

  /** Clusters whose threads only spin; they wait for others that are not finished. */
  private final Deque<BlockCluster> spinning = new ConcurrentLinkedDeque<>();

  private final GridFaults faults;
  private final GridExecution execution;

  /** Whether one thread alone is to run it, as far as is known. */
  private volatile boolean isShort;

  GridTask(Grid grid, DeviceTime time, Runnable wakeOthers) {
    this.grid = grid;
    this.time = time;
    this.wakeOthers = wakeOthers;
    kernel = grid.kernel();
    launch = grid.launch();
    clusters = launch.blocks() / launch.cluster().blocks();
    unfinished = new AtomicLong(clusters);
    // Blocks of a cooperative launch wait for each other, so each is better off with a thread.
    isShort = clusters == 1 || !launch.cooperative() && kernel.blockTime().isShort(launch.blocks());
    faults = new GridFaults(kernel);
    execution = new GridExecution(this);
  }

  boolean isShort() {
    return isShort;
  }

  GridExecution execution() {
    return execution;
  }

  long busyNanos() {
    return grid.busyNanos();
  }

  /** Whether the device's time is this process's at the moment. */
  boolean hasTime() {
    return !time.isOver();
  }

  @Override
  public boolean isWanted() {
    return hasWork();
  }

  /** Whether a worker thread that enters would find something to do. */
  boolean hasWork() {
    return !grid.isStopped() && (next.get() < clusters || !spinning.isEmpty());
  }

  /** Stops the grid with a fault; only the first one counts. */
  void stop(KernelFaultException reason) {
    fault.compareAndSet(null, reason);
    grid.stop();
    inside.incrementAndGet();
    leave(null);
  }

  /**
   * Runs blocks until there are no more to take or the time is up.
   *
   * @return whether it did anything but turn spinning blocks over
   */
  boolean work(BlockPool pool, long sliceNanos) {
    long start = time.begin(this, System.nanoTime());
    if (start == DeviceTime.NOT_NOW) {
      return true;
    }
    inside.incrementAndGet();
    boolean useful = false;
    try {
      // It may have ended while this thread waited for the device: its blocks are another's then.
      while (!grid.isStopped()) {
        long first = next.get();
        if (first < clusters) {
          useful = true;
          long share = (clusters - first) / (4L * grid.workers());
          int batch = isShort ? 1 : Math.clamp(share, 1, MAX_BATCH);
          runNew(pool, next.getAndAdd(batch), batch);
        } else {
          BlockCluster cluster = spinning.poll();
          if (cluster == null) {
            break;
          }
          useful |= advance(pool, cluster);
        }
        long worked = System.nanoTime() - start;
        wakeOthersIfLong(worked);
        if (time.isOver() || worked >= sliceNanos) {
          break;
        }
      }
    } finally {
      long end = System.nanoTime();
      grid.addBusyNanos(end - start);
      time.end(end);
      leave(pool);
    }
    return useful;
  }

  private void wakeOthersIfLong(long nanos) {
    if (isShort && nanos > BlockTime.WAKING_NANOS && next.get() < clusters) {
      isShort = false;
      wakeOthers.run();
    }
  }

  private void runNew(BlockPool pool, long first, int count) {
    BlockCluster cluster = null;
    for (long index = first;
        index < Math.min(first + count, clusters) && !grid.isStopped();
        index++) {
      if (cluster == null) {
        cluster = enter(pool);
        if (cluster == null) {
          return;
        }
      }
      cluster.begin(index);
      if (advance(cluster)) {
        unfinished.decrementAndGet();
      } else {
        spinning.add(cluster);
        cluster = null;
      }
    }
    if (cluster != null) {
      pool.give(cluster);
    }
  }

  /** Makes room for a cluster; without room the grid stops, and the result is null. */
  private @Nullable BlockCluster enter(BlockPool pool) {
    try {
      return BlockCluster.of(grid, pool);
    } catch (OutOfMemoryError | RuntimeException e) {
      fail(
          new KernelFaultException(
              KernelFaultException.LAUNCH_FAILED, "kernel " + kernel.name() + ": " + e));
      return null;
    }
  }

  private boolean advance(BlockPool pool, BlockCluster cluster) {
    if (advance(cluster)) {
      unfinished.decrementAndGet();
      pool.give(cluster);
      return true;
    }
    spinning.add(cluster);
    return false;
  }

  /** Runs a cluster to its end (true) or until it only spins (false); faults stop the grid. */
  private boolean advance(BlockCluster cluster) {
    try {
      return cluster.advance();
    } catch (DeviceFaultException e) {
      ThreadBlock block = cluster.running();
      DeviceFaultException first = block.assertions().first().orElse(e);
      fail(faults.of(block, first));
    } catch (VirtualMachineError | RuntimeException e) {
      fail(faults.unexpected(cluster.running(), e));
    }
    return true;
  }

  private void fail(KernelFaultException reason) {
    fault.compareAndSet(null, reason);
    grid.stop();
  }

  private void leave(@Nullable BlockPool pool) {
    if (inside.decrementAndGet() == 0
        && (grid.isStopped() || unfinished.get() == 0)
        && execution.finish(grid::release)) {
      for (BlockCluster left = spinning.poll(); left != null; left = spinning.poll()) {
        if (pool != null) {
          pool.give(left);
        } else {
          left.release();
        }
      }
      kernel.blockTime().ran(launch.blocks(), busyNanos());
      execution.complete(fault.get());
    }
  }
}
