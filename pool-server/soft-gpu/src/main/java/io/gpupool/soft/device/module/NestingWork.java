// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.module;

import io.gpupool.soft.device.context.ContextWork;
import io.gpupool.soft.device.work.CompletionHandoff;
import io.gpupool.soft.exec.block.CompiledKernel;
import io.gpupool.soft.exec.launch.Launch;
import io.gpupool.soft.nested.Child;
import io.gpupool.soft.nested.LaunchPool;
import io.gpupool.soft.nested.LaunchTree;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * A launch, in its stream, of a kernel that may launch others: it is over when all of them are, and
 * the fault of any is the context's.
 */
final class NestingWork extends ContextWork {
  private final SoftModule module;
  private final GridStarter starter;
  private final CompiledKernel kernel;
  private final Launch launch;
  private final byte[] params;
  private final LaunchPool pool;
  private final CompletionHandoff ending = new CompletionHandoff();

  /**
   * A launch.
   *
   * @param params the parameter block; not copied
   */
  NestingWork(
      SoftModule module, GridStarter starter, CompiledKernel kernel, Launch launch, byte[] params) {
    super(module.context());
    this.module = module;
    this.starter = starter;
    this.kernel = kernel;
    this.launch = launch;
    this.params = params;
    pool = module.context().runtimeMemory().pool();
  }

  @Override
  protected boolean run() {
    Workspace workspace = Workspace.of(launch, context().device().memory());
    ModuleKernels kernels = new ModuleKernels(module, starter, workspace.address());
    new LaunchTree(
            kernels,
            pool,
            failure -> {
              workspace.free();
              ended(failure);
            })
        .start(new Child(kernel, launch, params.length), MemorySegment.ofArray(params));
    return ending.isOverOnceBegun();
  }

  private void ended(LaunchTree.@Nullable Failure failure) {
    if (failure != null) {
      context().fail(starter.fault(failure.kernel(), failure.cause()));
    }
    if (ending.end()) {
      context().device().gpu().scheduler().finish(this);
    }
  }
}
