// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.module;

import io.gpupool.soft.device.context.ContextWork;
import io.gpupool.soft.device.context.SoftContext;
import io.gpupool.soft.device.work.CompletionHandoff;
import io.gpupool.soft.exec.GridExecution;
import io.gpupool.soft.exec.block.CompiledKernel;
import io.gpupool.soft.exec.launch.Launch;
import io.gpupool.soft.exec.runtime.DeviceRuntime;
import java.lang.foreign.MemorySegment;

/** A launch, in its stream, of a kernel that launches no others. */
final class KernelWork extends ContextWork {
  private final GridStarter starter;
  private final CompiledKernel kernel;
  private final Launch launch;
  private final byte[] params;
  private final CompletionHandoff ending = new CompletionHandoff();

  /**
   * A launch.
   *
   * @param params the parameter block; not copied
   */
  KernelWork(
      SoftContext context,
      GridStarter starter,
      CompiledKernel kernel,
      Launch launch,
      byte[] params) {
    super(context);
    this.starter = starter;
    this.kernel = kernel;
    this.launch = launch;
    this.params = params;
  }

  @Override
  protected boolean run() {
    Workspace workspace = Workspace.of(launch, context().device().memory());
    GridExecution execution =
        starter.start(
            kernel, launch, MemorySegment.ofArray(params), workspace.address(), DeviceRuntime.NONE);
    execution
        .completion()
        .whenComplete((nothing, failure) -> {
          workspace.free();
          ended(execution, failure);
        });
    return ending.isOverOnceBegun();
  }

  private void ended(GridExecution execution, Throwable failure) {
    starter.ended(execution);
    if (failure != null) {
      context().fail(starter.fault(kernel.name(), failure));
    }
    if (ending.end()) {
      context().device().gpu().scheduler().finish(this);
    }
  }
}
