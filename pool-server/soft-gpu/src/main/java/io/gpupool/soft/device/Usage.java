// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device;

import java.util.concurrent.atomic.LongAdder;

/** The time for which a device has been busy since it was made. Any thread may add and read. */
public final class Usage {
  private final LongAdder launches = new LongAdder();
  private final LongAdder skippedLaunches = new LongAdder();
  private final LongAdder coreNanos = new LongAdder();
  private final LongAdder copiedBytes = new LongAdder();
  private int activeKernels;
  private long activeSince;
  private long busyNanos;

  /** Kernels started. */
  public long launches() {
    return launches.sum();
  }

  /** Launches that did nothing because there was no code for them. */
  public long skippedLaunches() {
    return skippedLaunches.sum();
  }

  /** Processor time that finished kernels took, summed over cores. */
  public long coreNanos() {
    return coreNanos.sum();
  }

  /** Bytes copied and set. */
  public long copiedBytes() {
    return copiedBytes.sum();
  }

  /** Time during which at least one kernel ran. */
  public synchronized long busyNanos() {
    return busyNanos + (activeKernels > 0 ? System.nanoTime() - activeSince : 0);
  }

  public synchronized void kernelStarts() {
    launches.increment();
    if (activeKernels++ == 0) {
      activeSince = System.nanoTime();
    }
  }

  public void kernelEnds(long kernelCoreNanos) {
    coreNanos.add(kernelCoreNanos);
    synchronized (this) {
      if (--activeKernels == 0) {
        busyNanos += System.nanoTime() - activeSince;
      }
    }
  }

  public void launchSkipped() {
    skippedLaunches.increment();
  }

  public void copied(long bytes) {
    copiedBytes.add(bytes);
  }
}
