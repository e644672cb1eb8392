// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec;

import io.gpupool.soft.exec.launch.BlockTime;
import io.gpupool.soft.exec.launch.DeviceTime;
import io.gpupool.soft.exec.launch.FaultPlace;
import io.gpupool.soft.exec.launch.GridServices;
import io.gpupool.soft.exec.launch.KernelFaultException;
import io.gpupool.soft.exec.launch.Launch;
import io.gpupool.soft.exec.launch.PrintfSink;
import io.gpupool.soft.memory.HostBuffer;
import io.gpupool.soft.memory.MemoryMap;
import io.gpupool.soft.texture.ReferenceTable;
import io.gpupool.soft.texture.TextureTable;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.Deque;
import java.util.Optional;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * One launch while it runs. Worker threads enter, run some blocks, and leave; the last one to leave
 * a grid with nothing left to do completes it.
 */
final class Grid implements DeviceTime.Use {
  /** Blocks taken at once; small enough that a slice stays short. */
  private static final int MAX_BATCH = 32;

  private final CompiledKernel kernel;
  private final Launch launch;
  private final MemoryMap memory;
  private final GridServices services;
  private final DeviceTime time;
  private final HostBuffer params;
  private final long clusters;
  private final int workers;
  private final Runnable wakeOthers;
  private final AtomicLong next = new AtomicLong();
  private final AtomicLong unfinished;
  private final AtomicInteger inside = new AtomicInteger();
  private final AtomicReference<@Nullable KernelFaultException> fault = new AtomicReference<>();
  private final LongAdder busyNanos = new LongAdder();

  /** Clusters whose threads only spin; they wait for others that are not finished. */
  private final Deque<BlockCluster> spinning = new ConcurrentLinkedDeque<>();

  private final GridExecution execution;
  private volatile boolean stopped;

  /** Whether one thread alone is to run it, as far as is known. */
  private volatile boolean isShort;

  /** Of a thread in the middle of a block. */
  private final DeviceTime.Use running = () -> !stopped;

  Grid(
      CompiledKernel kernel,
      Launch launch,
      MemorySegment params,
      MemoryMap memory,
      GridServices services,
      int workers,
      Runnable wakeOthers) {
    this.kernel = kernel;
    this.launch = launch;
    this.memory = memory;
    this.services = services;
    time = services.time();
    this.workers = workers;
    this.wakeOthers = wakeOthers;
    // Not an arena: closing a shared one stops every thread of the process for a moment.
    this.params = new HostBuffer(Math.max(params.byteSize(), Math.max(kernel.paramBytes(), 8)));
    MemorySegment block = this.params.segment();
    block.copyFrom(params);
    if (params.byteSize() < block.byteSize()) {
      block.asSlice(params.byteSize()).fill((byte) 0);
    }
    clusters = launch.blocks() / launch.cluster().blocks();
    unfinished = new AtomicLong(clusters);
    // Blocks of a cooperative launch wait for each other, so each is better off with a thread.
    isShort = clusters == 1 || !launch.cooperative() && kernel.blockTime().isShort(launch.blocks());
    execution = new GridExecution(this);
  }

  boolean isShort() {
    return isShort;
  }

  CompiledKernel kernel() {
    return kernel;
  }

  Launch launch() {
    return launch;
  }

  MemoryMap memory() {
    return memory;
  }

  TextureTable textures() {
    return services.textures();
  }

  ReferenceTable references() {
    return services.references();
  }

  GridServices services() {
    return services;
  }

  /** Worker threads that may run its blocks at once. */
  int workers() {
    return workers;
  }

  long params() {
    return params.segment().address();
  }

  long paramBytes() {
    return params.segment().byteSize();
  }

  GridExecution execution() {
    return execution;
  }

  long busyNanos() {
    return busyNanos.sum();
  }

  void print(String text) {
    services.printf().print(text.getBytes(StandardCharsets.UTF_8));
  }

  void print(PrintfSink.Stream stream, String text) {
    services.printf().print(stream, text.getBytes(StandardCharsets.UTF_8));
  }

  /**
   * Unwinds a thread of a grid that was cancelled; holds it back while the device is for others.
   */
  void lookUp() {
    throwIfCancelled();
    long held = time.pass(running);
    if (held > 0) {
      busyNanos.add(-held);
      throwIfCancelled();
    }
  }

  /** The same without asking for the time, so that it may be done often. */
  void lookUpBriefly() {
    throwIfCancelled();
    if (time.isOver()) {
      lookUp();
    }
  }

  private void throwIfCancelled() {
    if (stopped) {
      throw new DeviceFaultException(
          KernelFaultException.LAUNCH_TIMEOUT, "the launch was cancelled");
    }
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
    return !stopped && (next.get() < clusters || !spinning.isEmpty());
  }

  /** Stops the grid with a fault; only the first one counts. */
  void stop(KernelFaultException reason) {
    fault.compareAndSet(null, reason);
    stopped = true;
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
      while (!stopped) {
        long first = next.get();
        if (first < clusters) {
          useful = true;
          long share = (clusters - first) / (4L * workers);
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
      busyNanos.add(end - start);
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
    for (long index = first; index < Math.min(first + count, clusters) && !stopped; index++) {
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
      return BlockCluster.of(this, pool);
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
      fail(
          new KernelFaultException(
              first.cudaResult(), describe(block, first), place(block, first)));
    } catch (VirtualMachineError | RuntimeException e) {
      fail(
          new KernelFaultException(
              KernelFaultException.LAUNCH_FAILED, describe(cluster.running(), e)));
    }
    return true;
  }

  private void fail(KernelFaultException reason) {
    fault.compareAndSet(null, reason);
    stopped = true;
  }

  private Optional<FaultPlace> place(ThreadBlock block, DeviceFaultException fault) {
    int thread = fault.thread().orElse(block.faulted);
    Optional<String> coordinates =
        thread < 0 ? Optional.empty() : Optional.of(block.coordinates(thread));
    return Optional.of(
        new FaultPlace(line(fault), block.coordinates(), coordinates, fault.globalAddress()));
  }

  /** The line of the PTX at which a problem arose, 0 if it is not known. */
  private int line(Throwable problem) {
    for (StackTraceElement element : problem.getStackTrace()) {
      if (element.getClassName().equals(kernel.code().getClass().getName())
          && element.getLineNumber() > 0) {
        return element.getLineNumber();
      }
    }
    return 0;
  }

  private String describe(ThreadBlock block, Throwable problem) {
    StringBuilder text = new StringBuilder("kernel ").append(kernel.name());
    text.append(", block (").append(block.coordinates()).append(')');
    int line = line(problem);
    if (line > 0) {
      text.append(", PTX line ").append(line);
    }
    boolean expected = problem instanceof DeviceFaultException;
    return text.append(": ").append(expected ? problem.getMessage() : problem).toString();
  }

  private void leave(@Nullable BlockPool pool) {
    if (inside.decrementAndGet() == 0
        && (stopped || unfinished.get() == 0)
        && execution.finish(this::release)) {
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

  private void release() {
    params.close();
  }
}
