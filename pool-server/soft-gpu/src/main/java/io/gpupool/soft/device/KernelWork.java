// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.exec.CompiledKernel;
import io.gpupool.soft.exec.GridExecution;
import io.gpupool.soft.exec.KernelFault;
import io.gpupool.soft.exec.Launch;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CompletionException;

/** A kernel launch in its stream. */
final class KernelWork extends ContextWork {
  private final CompiledKernel kernel;
  private final Launch launch;
  private final byte[] params;
  private final Ending ending = new Ending();

  /**
   * A launch.
   *
   * @param params the parameter block; not copied
   */
  KernelWork(SoftContext context, CompiledKernel kernel, Launch launch, byte[] params) {
    super(context);
    this.kernel = kernel;
    this.launch = launch;
    this.params = params;
  }

  @Override
  boolean run() {
    SoftDevice device = context().device();
    GridExecution execution =
        device
            .gpu()
            .runner()
            .start(
                kernel,
                launch,
                MemorySegment.ofArray(params),
                device.memory().map(),
                device.gpu().textures(),
                device.gpu().printf());
    device.usage().kernelStarts();
    execution.completion().whenComplete((nothing, failure) -> ended(execution, failure));
    return ending.isOverOnceBegun();
  }

  private void ended(GridExecution execution, Throwable failure) {
    context().device().usage().kernelEnds(execution.busyNanos());
    if (failure != null) {
      context().fail(fault(failure));
    }
    if (ending.end()) {
      context().device().gpu().scheduler().finish(this);
    }
  }

  private GpuException fault(Throwable failure) {
    Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
    return switch (cause) {
      case KernelFault fault ->
          new GpuException(CudaStatus.of(fault.cudaResult()), fault.getMessage());
      case null, default ->
          new GpuException(
              CudaStatus.LAUNCH_FAILED, "kernel " + kernel.name() + " could not be run: " + cause);
    };
  }
}
