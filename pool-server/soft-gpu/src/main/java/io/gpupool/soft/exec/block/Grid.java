// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.block;

import io.gpupool.soft.exec.launch.DeviceFaultException;
import io.gpupool.soft.exec.launch.DeviceTime;
import io.gpupool.soft.exec.launch.GridServices;
import io.gpupool.soft.exec.launch.KernelFaultException;
import io.gpupool.soft.exec.launch.Launch;
import io.gpupool.soft.memory.HostBuffer;
import io.gpupool.soft.memory.MemoryMap;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.LongAdder;

/**
 * A launched grid as its blocks see it: the kernel, the parameters, the memory, and whether they
 * are to go on. Any thread may call it.
 */
public final class Grid {
  private final CompiledKernel kernel;
  private final Launch launch;
  private final MemoryMap memory;
  private final GridServices services;
  private final DeviceTime time;
  private final HostBuffer params;
  private final int workers;
  private final LongAdder busyNanos = new LongAdder();
  private volatile boolean stopped;

  /** The use of the device's time by a thread in the middle of a block. */
  private final DeviceTime.Use running = () -> !stopped;

  /**
   * A grid.
   *
   * @param params the parameter block; copied
   * @param workers threads that may run its blocks at once
   */
  public Grid(
      CompiledKernel kernel,
      Launch launch,
      MemorySegment params,
      MemoryMap memory,
      GridServices services,
      int workers) {
    this.kernel = kernel;
    this.launch = launch;
    this.memory = memory;
    this.services = services;
    this.workers = workers;
    time = services.time();
    // Not an arena: closing a shared one stops every thread of the process for a moment.
    this.params =
        new HostBuffer(Math.max(params.byteSize(), Math.max(kernel.memory().paramBytes(), 8)));
    MemorySegment block = this.params.segment();
    block.copyFrom(params);
    if (params.byteSize() < block.byteSize()) {
      block.asSlice(params.byteSize()).fill((byte) 0);
    }
  }

  public CompiledKernel kernel() {
    return kernel;
  }

  public Launch launch() {
    return launch;
  }

  MemoryMap memory() {
    return memory;
  }

  GridServices services() {
    return services;
  }

  /** Returns the number of worker threads that may run its blocks at once. */
  public int workers() {
    return workers;
  }

  long params() {
    return params.segment().address();
  }

  long paramBytes() {
    return params.segment().byteSize();
  }

  /** Returns the thread time spent so far, summed over cores. */
  public long busyNanos() {
    return busyNanos.sum();
  }

  /** Counts thread time. */
  public void addBusyNanos(long nanos) {
    busyNanos.add(nanos);
  }

  public boolean isStopped() {
    return stopped;
  }

  /** Has the blocks stop where they look next. */
  public void stop() {
    stopped = true;
  }

  /**
   * Unwinds a thread of a grid that was cancelled; holds it back while the device is for others.
   */
  void lookUp() {
    throwIfStopped();
    long held = time.pass(running);
    if (held > 0) {
      busyNanos.add(-held);
      throwIfStopped();
    }
  }

  /** Does the same without asking for the time, so that it may be done often. */
  void lookUpBriefly() {
    throwIfStopped();
    if (time.isOver()) {
      lookUp();
    }
  }

  private void throwIfStopped() {
    if (stopped) {
      throw new DeviceFaultException(
          KernelFaultException.LAUNCH_TIMEOUT, "the launch was cancelled");
    }
  }

  /** Frees the parameter block, once no thread runs any more. */
  public void release() {
    params.close();
  }
}
