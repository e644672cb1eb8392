// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.exec.Launch;

/** What a launch must satisfy before it is queued; the rules of {@code cuLaunchKernel}. */
final class LaunchCheck {
  private LaunchCheck() {}

  static void check(SoftFunction function, Launch launch) {
    requireRange("grid x", launch.gridX(), ComputeLimits.MAX_GRID_X);
    requireRange("grid y", launch.gridY(), ComputeLimits.MAX_GRID_YZ);
    requireRange("grid z", launch.gridZ(), ComputeLimits.MAX_GRID_YZ);
    requireRange("block x", launch.blockX(), ComputeLimits.THREADS_PER_BLOCK);
    requireRange("block y", launch.blockY(), ComputeLimits.THREADS_PER_BLOCK);
    requireRange("block z", launch.blockZ(), ComputeLimits.MAX_BLOCK_Z);
    int threads = launch.blockX() * launch.blockY() * launch.blockZ();
    requireRange("threads a block", threads, ComputeLimits.THREADS_PER_BLOCK);
    if (threads > function.info().maxThreadsPerBlock()) {
      throw new GpuException(
          CudaStatus.INVALID_VALUE,
          "kernel "
              + function.info().name()
              + " is built for at most "
              + function.info().maxThreadsPerBlock()
              + " threads a block, not "
              + threads);
    }
    int shared = launch.dynamicSharedBytes();
    if (shared < 0 || shared > function.attribute(8)) {
      throw new GpuException(
          CudaStatus.INVALID_VALUE,
          shared + " bytes of dynamic shared memory; the kernel may use " + function.attribute(8));
    }
    int resident = Occupancy.blocksPerMultiprocessor(function, threads, shared);
    if (resident == 0) {
      throw new GpuException(
          CudaStatus.LAUNCH_OUT_OF_RESOURCES,
          "a block of " + threads + " threads does not fit a multiprocessor");
    }
    if (launch.cooperative()) {
      checkCooperative(function, launch, resident);
    }
  }

  private static void checkCooperative(SoftFunction function, Launch launch, int resident) {
    long most = (long) resident * function.context().device().gpu().cores();
    // Each product is bounded by the one before, so none overflows.
    long blocks = (long) launch.gridX() * launch.gridY();
    if (blocks <= most) {
      blocks *= launch.gridZ();
    }
    if (blocks > most) {
      throw new GpuException(
          CudaStatus.COOPERATIVE_LAUNCH_TOO_LARGE,
          "a cooperative launch can have " + most + " such blocks at most");
    }
  }

  private static void requireRange(String what, int value, int most) {
    if (value < 1 || value > most) {
      throw new GpuException(
          CudaStatus.INVALID_VALUE, what + " is " + (value & 0xffff_ffffL) + ", not 1 to " + most);
    }
  }
}
