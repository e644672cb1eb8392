// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.context;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.work.CompletionHandoff;
import io.gpupool.soft.device.work.HostTask;
import io.gpupool.soft.device.work.Scheduler;
import io.gpupool.soft.device.work.Work;
import java.util.concurrent.atomic.AtomicBoolean;

/** The work of a stream in which the host executes a task. Started and ended by any thread. */
final class HostWork extends Work {
  private final SoftContext context;
  private final HostTask task;
  private final boolean evenAfterFault;
  private final CompletionHandoff ending = new CompletionHandoff();
  private final AtomicBoolean ended = new AtomicBoolean();

  HostWork(SoftContext context, HostTask task, boolean evenAfterFault) {
    super(context.device().gpu().scheduler());
    this.context = context;
    this.task = task;
    this.evenAfterFault = evenAfterFault;
  }

  @Override
  protected boolean start() {
    CudaStatus status = context.fault().map(GpuException::status).orElse(CudaStatus.SUCCESS);
    if (status != CudaStatus.SUCCESS && !evenAfterFault) {
      return true;
    }
    context.device().gpu().scheduler().addHostFunctions(1);
    try {
      task.start(status, this::end);
    } catch (RuntimeException e) {
      context.fail(new GpuException(CudaStatus.LAUNCH_FAILED, "a host function failed: " + e));
      end();
    }
    return ending.isOverOnceBegun();
  }

  private void end() {
    if (!ended.compareAndSet(false, true)) {
      return;
    }
    Scheduler scheduler = context.device().gpu().scheduler();
    scheduler.addHostFunctions(-1);
    if (ending.end()) {
      scheduler.finish(this);
    }
  }
}
