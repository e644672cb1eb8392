// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.context;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.SoftDevice;
import io.gpupool.soft.device.work.Transfer;
import io.gpupool.soft.device.work.Work;
import io.gpupool.soft.exec.launch.DeviceTime;

/** A work that a context's fault prevents, and whose own failure is its context's fault. */
public abstract class ContextWork extends Work {
  private final SoftContext context;

  public ContextWork(SoftContext context) {
    super(context.device().gpu().scheduler());
    this.context = context;
  }

  protected SoftContext context() {
    return context;
  }

  /** As {@link #start}, in a context without fault. */
  protected abstract boolean run();

  /** Copies or fills something in the device's time. */
  protected final void transfer(long lengthBytes, Transfer transfer) {
    SoftDevice device = context.device();
    DeviceTime time = device.time();
    time.run(() -> transfer.run(time));
    device.usage().copied(lengthBytes);
  }

  @Override
  protected boolean touchesMemory() {
    return true;
  }

  /** Instead of {@link #run} where the context has a fault. */
  protected void skip() {}

  @Override
  protected final boolean start() {
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
