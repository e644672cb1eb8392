// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.exec.DeviceTime;

/** A work that a context's fault prevents, and whose own failure is its context's fault. */
abstract class ContextWork extends Work {
  private final SoftContext context;

  ContextWork(SoftContext context) {
    super(context.device().gpu().scheduler());
    this.context = context;
  }

  SoftContext context() {
    return context;
  }

  /** As {@link #start}, in a context without fault. */
  abstract boolean run();

  /** Copies or fills something in the device's time. */
  final void transfer(long lengthBytes, Transfer transfer) {
    SoftDevice device = context.device();
    DeviceTime time = device.time();
    time.await(System.nanoTime());
    try {
      transfer.run(time);
    } finally {
      time.end(System.nanoTime());
    }
    device.usage().copied(lengthBytes);
  }

  @Override
  boolean touchesMemory() {
    return true;
  }

  /** Instead of {@link #run} where the context has a fault. */
  void skip() {}

  @Override
  final boolean start() {
    if (context.fault().isPresent()) {
      skip();
      return true;
    }
    try {
      return run();
    } catch (GpuException e) {
      context.fail(e);
    } catch (RuntimeException | Error e) {
      context.fail(new GpuException(CudaStatus.LAUNCH_FAILED, "the software GPU failed: " + e));
    }
    return true;
  }
}
