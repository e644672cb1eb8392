// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec;

import io.gpupool.soft.exec.block.BlockPool;
import io.gpupool.soft.exec.block.CompiledKernel;
import io.gpupool.soft.exec.block.Grid;
import io.gpupool.soft.exec.launch.GridServices;
import io.gpupool.soft.exec.launch.KernelFaultException;
import io.gpupool.soft.exec.launch.Launch;
import io.gpupool.soft.memory.MemoryMap;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The worker threads that run grids, one per core. Grids in flight take turns of a slice of time on
 * every worker. Usable from any thread.
 */
public final class GridRunner implements AutoCloseable {
  private static final long SLICE_NANOS = 1_000_000;

  /** How long a worker rests when all that is left are blocks that spin. */
  private static final long SPIN_PAUSE_NANOS = 20_000;

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final List<GridTask> grids = new ArrayList<>();
  private final List<Thread> threads = new ArrayList<>();

  /** The grid that a worker thread is in. */
  private final ThreadLocal<GridTask> entered = new ThreadLocal<>();

  private final ConcurrentLinkedQueue<BlockPool> callerPools = new ConcurrentLinkedQueue<>();
  private int turn;
  private boolean closed;

  /**
   * Starts the worker threads.
   *
   * @param threads how many; usually the number of cores
   */
  public GridRunner(int threads) {
    if (threads < 1) {
      throw new IllegalArgumentException("threads must be at least 1: " + threads);
    }
    for (int i = 0; i < threads; i++) {
      BlockPool pool = new BlockPool(i);
      this.threads.add(
          Thread.ofPlatform()
              .name("soft-gpu-" + i)
              .daemon()
              .stackSize(4 << 20)
              .start(() -> serve(pool)));
    }
  }

  /**
   * Starts a grid.
   *
   * @param params the parameter block; copied before this returns
   * @param memory what the kernel may touch
   */
  public GridExecution start(
      CompiledKernel kernel,
      Launch launch,
      MemorySegment params,
      MemoryMap memory,
      GridServices services) {
    GridTask grid = task(kernel, launch, params, memory, services);
    enqueue(grid);
    return grid.execution();
  }

  /**
   * Runs a grid to its end; the calling thread takes part, so a small grid costs no thread hop.
   *
   * @throws KernelFaultException if the kernel faults or is cancelled
   */
  public void run(
      CompiledKernel kernel,
      Launch launch,
      MemorySegment params,
      MemoryMap memory,
      GridServices services)
      throws KernelFaultException {
    GridTask grid = task(kernel, launch, params, memory, services);
    enqueue(grid);
    BlockPool pool = callerPools.poll();
    if (pool == null) {
      pool = new BlockPool(threads.size());
    }
    while (grid.hasWork()) {
      if (!grid.work(pool, SLICE_NANOS)) {
        Thread.yield();
      }
    }
    callerPools.add(pool);
    await(grid.execution());
  }

  private GridTask task(
      CompiledKernel kernel,
      Launch launch,
      MemorySegment params,
      MemoryMap memory,
      GridServices services) {
    Grid grid = new Grid(kernel, launch, params, memory, services, threads.size());
    return new GridTask(grid, services.time(), this::wake);
  }

  private static void await(GridExecution execution) throws KernelFaultException {
    try {
      execution.completion().get();
    } catch (ExecutionException e) {
      if (e.getCause() instanceof KernelFaultException fault) {
        throw fault;
      }
      throw new CompletionException(e.getCause());
    } catch (InterruptedException e) {
      execution.cancel();
      Thread.currentThread().interrupt();
      throw new KernelFaultException(
          KernelFaultException.LAUNCH_TIMEOUT, "interrupted while waiting for a kernel");
    }
  }

  /** Cancels what runs and ends the threads; returns when all have ended. */
  @Override
  public void close() {
    lock.lock();
    try {
      closed = true;
      List.copyOf(grids).forEach(grid -> grid.execution().cancel());
      changed.signalAll();
      while (!grids.isEmpty()) {
        changed.awaitUninterruptibly();
      }
    } finally {
      lock.unlock();
    }
    for (Thread thread : threads) {
      boolean interrupted = false;
      while (thread.isAlive()) {
        try {
          thread.join();
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
    for (BlockPool pool = callerPools.poll(); pool != null; pool = callerPools.poll()) {
      pool.release();
    }
  }

  private void enqueue(GridTask grid) {
    lock.lock();
    try {
      if (closed) {
        throw new IllegalStateException("the grid runner is closed");
      }
      boolean followsUp = endsAnother() && !hasWork();
      grids.add(grid);
      if (!grid.isShort()) {
        changed.signalAll();
      } else if (!followsUp) {
        changed.signal();
      }
    } finally {
      lock.unlock();
    }
    grid.execution().completion().whenComplete((_, _) -> forget(grid));
  }

  /**
   * Whether the caller is a worker that has ended a grid just now: it takes up itself what it
   * starts, so that no other need wake. A worker in the middle of a block may be long in coming.
   */
  private boolean endsAnother() {
    GridTask grid = entered.get();
    return grid != null && grid.execution().isFinished();
  }

  private boolean hasWork() {
    for (GridTask grid : grids) {
      if (grid.hasWork()) {
        return true;
      }
    }
    return false;
  }

  /** A grid takes longer than it was expected to, and has work for others. */
  private void wake() {
    lock.lock();
    try {
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  private void forget(GridTask grid) {
    lock.lock();
    try {
      grids.remove(grid);
      if (closed) {
        changed.signalAll();
      }
    } finally {
      lock.unlock();
    }
  }

  private void serve(BlockPool pool) {
    for (GridTask grid = await(); grid != null; grid = await()) {
      entered.set(grid);
      boolean useful = grid.work(pool, SLICE_NANOS);
      entered.set(null);
      if (!useful) {
        pause();
      }
    }
    pool.release();
  }

  private void pause() {
    lock.lock();
    try {
      long rest = SPIN_PAUSE_NANOS;
      while (rest > 0 && !closed) {
        rest = changed.awaitNanos(rest);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      lock.unlock();
    }
  }

  /** The next grid in turn with work, or with work and its device's time; null if there is none. */
  private @Nullable GridTask next(boolean timeNeeded) {
    int count = grids.size();
    for (int i = 0; i < count; i++) {
      GridTask grid = grids.get((turn + i) % count);
      if (grid.hasWork() && (!timeNeeded || grid.hasTime())) {
        turn = (turn + i + 1) % count;
        return grid;
      }
    }
    return null;
  }

  /** Waits for a grid with work, the next one in turn; null once closed. */
  private @Nullable GridTask await() {
    lock.lock();
    try {
      while (!closed) {
        GridTask grid = next(true);
        grid = grid == null ? next(false) : grid;
        if (grid != null) {
          return grid;
        }
        changed.awaitUninterruptibly();
      }
      return null;
    } finally {
      lock.unlock();
    }
  }
}
