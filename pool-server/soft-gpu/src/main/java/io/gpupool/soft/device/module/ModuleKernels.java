// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.module;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.TransferKernels;
import io.gpupool.soft.device.spec.LaunchShape;
import io.gpupool.soft.exec.GridExecution;
import io.gpupool.soft.exec.runtime.BlockRuntime.Box;
import io.gpupool.soft.exec.runtime.BlockRuntime.ChildLaunch;
import io.gpupool.soft.exec.runtime.DeviceQueries;
import io.gpupool.soft.exec.runtime.DeviceRuntime;
import io.gpupool.soft.exec.runtime.RuntimeCallException;
import io.gpupool.soft.nested.Child;
import io.gpupool.soft.nested.ChildKernels;
import java.lang.foreign.MemorySegment;

/** The kernels that the kernels of a module may launch: those of the same module, and copies. */
final class ModuleKernels implements ChildKernels {
  private final SoftModule module;
  private final GridStarter starter;
  private final long workspace;
  private final ModuleQueries queries;

  /**
   * What one launch of the program needs.
   *
   * @param workspace for the program's launch, if that is cooperative
   */
  ModuleKernels(SoftModule module, GridStarter starter, long workspace) {
    this.module = module;
    this.starter = starter;
    this.workspace = workspace;
    queries = new ModuleQueries(module);
  }

  @Override
  public Child check(ChildLaunch launch) {
    SoftFunction function = queries.function(launch.function());
    LaunchShape shape =
        new LaunchShape(launch.grid(), launch.block(), launch.dynamicSharedBytes(), false);
    try {
      return function.child(shape);
    } catch (GpuException e) {
      boolean shapeIsWrong = e.status() == CudaStatus.INVALID_VALUE;
      throw new RuntimeCallException(
          shapeIsWrong ? RuntimeCallException.INVALID_CONFIGURATION : e.status().code(),
          e.getMessage());
    }
  }

  @Override
  public Prepared copy(Box to, Box from) {
    return transfers().copy(to, from);
  }

  @Override
  public Prepared fill(Box to, int value) {
    return transfers().fill(to, value);
  }

  private TransferKernels transfers() {
    return module.context().device().gpu().transferKernels();
  }

  @Override
  public GridExecution start(Child child, MemorySegment params, DeviceRuntime runtime) {
    long own = child.launch().cooperative() ? workspace : 0;
    return starter.start(child.kernel(), child.launch(), params, own, runtime);
  }

  @Override
  public void ended(GridExecution execution) {
    starter.ended(execution);
  }

  @Override
  public DeviceQueries queries() {
    return queries;
  }
}
