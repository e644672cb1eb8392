// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.module;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.SoftDevice;
import io.gpupool.soft.device.context.SoftContext;
import io.gpupool.soft.exec.GridExecution;
import io.gpupool.soft.exec.block.CompiledKernel;
import io.gpupool.soft.exec.launch.GridServices;
import io.gpupool.soft.exec.launch.KernelFaultException;
import io.gpupool.soft.exec.launch.Launch;
import io.gpupool.soft.exec.launch.PrintfSink;
import io.gpupool.soft.exec.runtime.DeviceRuntime;
import io.gpupool.soft.memory.DeviceHeap;
import io.gpupool.soft.ptx.module.PtxModule;
import io.gpupool.soft.texture.ReferenceTable;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CompletionException;

/**
 * Starter of grids with the services of their context; it translates their faults into results of
 * the driver. Any thread may call it.
 */
final class GridStarter {
  private final SoftContext context;
  private final PtxModule module;
  private final DeviceHeap heap;

  /** What the references of the context's modules were bound to at the launch. */
  private final ReferenceTable references;

  GridStarter(SoftContext context, PtxModule module, DeviceHeap heap) {
    this.context = context;
    this.module = module;
    this.heap = heap;
    references = context.references().table();
  }

  /**
   * Starts a grid; {@link #ended} must follow its end.
   *
   * @param params copied before this returns
   * @param workspace of a cooperative launch, else 0
   */
  GridExecution start(
      CompiledKernel kernel,
      Launch launch,
      MemorySegment params,
      long workspace,
      DeviceRuntime runtime) {
    SoftDevice device = context.device();
    GridExecution execution =
        device
            .gpu()
            .runner()
            .start(
                kernel,
                launch,
                params,
                device.memory().map(),
                new GridServices(
                    device.gpu().printf(),
                    device.gpu().textures(),
                    references,
                    heap,
                    workspace,
                    runtime,
                    device.time()));
    device.usage().kernelStarts();
    return execution;
  }

  void ended(GridExecution execution) {
    context.device().usage().kernelEnds(execution.busyNanos());
  }

  /**
   * The context's fault by the failure of a kernel; reports it to a program that asked for that.
   */
  GpuException fault(String kernel, Throwable failure) {
    Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
    return switch (cause) {
      case KernelFaultException fault -> {
        SoftDevice device = context.device();
        byte[] report = FaultReport.of(fault, kernel, module, device.memory());
        device.gpu().printf().print(PrintfSink.Stream.REPORT, report);
        yield new GpuException(CudaStatus.of(fault.cudaResult()), fault.getMessage());
      }
      case null, default ->
          new GpuException(
              CudaStatus.LAUNCH_FAILED, "kernel " + kernel + " could not be run: " + cause);
    };
  }
}
