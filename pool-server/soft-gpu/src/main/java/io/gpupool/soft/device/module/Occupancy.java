// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.module;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.spec.ComputeLimits;
import io.gpupool.soft.device.spec.LaunchShape;

/** The number of blocks that a multiprocessor of the presented compute capability holds at once. */
public final class Occupancy {
  private static final int REGISTER_UNIT = 8;

  private Occupancy() {}

  /**
   * Blocks that a multiprocessor holds.
   *
   * @param threads of a block
   * @param dynamicSharedBytes of a block
   */
  public static int blocksPerMultiprocessor(
      SoftFunction function, int threads, long dynamicSharedBytes) {
    if (threads < 1 || dynamicSharedBytes < 0) {
      throw new GpuException(
          CudaStatus.INVALID_VALUE, threads + " threads, " + dynamicSharedBytes + " bytes");
    }
    ComputeLimits limits = function.context().device().limits();
    if (threads > function.info().maxThreadsPerBlock()) {
      return 0;
    }
    int warps = ceilDivide(threads, ComputeLimits.WARP_THREADS);
    int byWarps = limits.warpsPerMultiprocessor() / warps;
    long byShared =
        limits.sharedBytesPerMultiprocessor()
            / sharedBytes(
                limits, function.info().resources().staticSharedBytes(), dynamicSharedBytes);
    int registersPerWarp =
        roundUp(function.info().resources().registers(), REGISTER_UNIT)
            * ComputeLimits.WARP_THREADS;
    int warpsByRegisters =
        ComputeLimits.REGISTERS / roundUp(registersPerWarp, ComputeLimits.REGISTER_GRANULE);
    int byRegisters = warpsByRegisters / warps;
    long least = Math.min(Math.min(byWarps, byShared), byRegisters);
    return (int) Math.min(least, limits.blocksPerMultiprocessor());
  }

  /** Blocks of the largest cluster that a kernel may be launched in. */
  public static int clusterBlocks(SoftFunction function) {
    return Clusters.mostBlocks(function);
  }

  /**
   * Clusters of a launch that run at once; 0 if it cannot be made. A card has more multiprocessors
   * than a cluster has blocks.
   */
  public static int activeClusters(SoftFunction function, LaunchShape shape, int multiprocessors) {
    int threads = shape.block().x() * shape.block().y() * shape.block().z();
    int all =
        blocksPerMultiprocessor(function, threads, shape.dynamicSharedBytes()) * multiprocessors;
    int blocks = Clusters.of(function, shape).blocks();
    return all == 0 ? 0 : Math.max(1, all / blocks);
  }

  /** The dynamic shared memory that each of {@code blocks} blocks can have on a multiprocessor. */
  public static long availableDynamicSharedBytes(SoftFunction function, int blocks, int threads) {
    if (blocks < 1 || threads < 1) {
      throw new GpuException(CudaStatus.INVALID_VALUE, blocks + " blocks of " + threads);
    }
    ComputeLimits limits = function.context().device().limits();
    int granule = ComputeLimits.SHARED_GRANULE_BYTES;
    long each = limits.sharedBytesPerMultiprocessor() / blocks / granule * granule;
    long free =
        each - limits.sharedBytesReserved() - function.info().resources().staticSharedBytes();
    long most =
        limits.sharedBytesPerBlockOptIn() - (long) function.info().resources().staticSharedBytes();
    return Math.clamp(free, 0, Math.max(0, most));
  }

  private static long sharedBytes(ComputeLimits limits, int staticBytes, long dynamicBytes) {
    long bytes = staticBytes + dynamicBytes + limits.sharedBytesReserved();
    int granule = ComputeLimits.SHARED_GRANULE_BYTES;
    return Math.max(granule, (bytes + granule - 1) / granule * granule);
  }

  private static int ceilDivide(int value, int divisor) {
    return (value + divisor - 1) / divisor;
  }

  private static int roundUp(int value, int unit) {
    return ceilDivide(value, unit) * unit;
  }
}
