// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.module;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.spec.ComputeLimits;
import io.gpupool.soft.device.spec.LaunchShape;
import io.gpupool.soft.exec.launch.Launch;

/**
 * The conditions that a launch must satisfy before it is queued: the rules of {@code
 * cuLaunchKernel}.
 */
public final class LaunchCheck {
  private LaunchCheck() {}

  public static Launch check(SoftFunction function, LaunchShape shape) {
    requireRange("grid x", shape.grid().x(), ComputeLimits.MAX_GRID_X);
    requireRange("grid y", shape.grid().y(), ComputeLimits.MAX_GRID_YZ);
    requireRange("grid z", shape.grid().z(), ComputeLimits.MAX_GRID_YZ);
    requireRange("block x", shape.block().x(), ComputeLimits.THREADS_PER_BLOCK);
    requireRange("block y", shape.block().y(), ComputeLimits.THREADS_PER_BLOCK);
    requireRange("block z", shape.block().z(), ComputeLimits.MAX_BLOCK_Z);
    int threads = (int) shape.block().count();
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
    int shared = shape.dynamicSharedBytes();
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
    if (shape.cooperative()) {
      checkCooperative(function, shape, resident);
    }
    return new Launch(
        shape.grid(), shape.block(), shared, shape.cooperative(), Clusters.of(function, shape));
  }

  private static void checkCooperative(SoftFunction function, LaunchShape shape, int resident) {
    long most = (long) resident * function.context().device().gpu().cores();
    // Each product is bounded by the one before, so none overflows.
    long blocks = (long) shape.grid().x() * shape.grid().y();
    if (blocks <= most) {
      blocks *= shape.grid().z();
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
