// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.exec.CompiledKernel;
import io.gpupool.soft.exec.GridExecution;
import io.gpupool.soft.exec.GridServices;
import io.gpupool.soft.exec.KernelFault;
import io.gpupool.soft.exec.Launch;
import io.gpupool.soft.exec.PrintfSink;
import io.gpupool.soft.memory.DeviceHeap;
import io.gpupool.soft.memory.DeviceMemory;
import io.gpupool.soft.ptx.PtxModule;
import io.gpupool.soft.texture.ReferenceTable;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.CompletionException;

/** A kernel launch in its stream. */
final class KernelWork extends ContextWork {
  private final PtxModule module;
  private final CompiledKernel kernel;
  private final Launch launch;
  private final byte[] params;
  private final DeviceHeap heap;

  /** What the references of the context's modules were bound to at the launch. */
  private final ReferenceTable references;

  private final Ending ending = new Ending();

  /**
   * A launch.
   *
   * @param params the parameter block; not copied
   */
  KernelWork(
      SoftContext context,
      PtxModule module,
      CompiledKernel kernel,
      Launch launch,
      byte[] params,
      DeviceHeap heap) {
    super(context);
    this.module = module;
    this.kernel = kernel;
    this.launch = launch;
    this.params = params;
    this.heap = heap;
    references = context.references().table();
  }

  @Override
  boolean run() {
    SoftDevice device = context().device();
    long workspace;
    try {
      workspace = launch.cooperative() ? makeWorkspace(device.memory()) : 0;
    } catch (GpuException e) {
      context().fail(e);
      return true;
    }
    GridExecution execution =
        device
            .gpu()
            .runner()
            .start(
                kernel,
                launch,
                MemorySegment.ofArray(params),
                device.memory().map(),
                new GridServices(
                    device.gpu().printf(),
                    device.gpu().textures(),
                    references,
                    heap,
                    workspace,
                    device.time()));
    device.usage().kernelStarts();
    execution
        .completion()
        .whenComplete((nothing, failure) -> {
          if (workspace != 0) {
            device.memory().free(workspace);
          }
          ended(execution, failure);
        });
    return ending.isOverOnceBegun();
  }

  /** Memory for the blocks to count each other in; it starts with its own length. */
  private static long makeWorkspace(DeviceMemory memory) {
    long address = memory.allocate(GridServices.WORKSPACE_BYTES, KernelWork.class);
    MemorySegment bytes = memory.view(address, GridServices.WORKSPACE_BYTES);
    bytes.fill((byte) 0);
    bytes.set(ValueLayout.JAVA_INT, 0, GridServices.WORKSPACE_BYTES);
    return address;
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
      case KernelFault fault -> {
        SoftDevice device = context().device();
        byte[] report = FaultReport.of(fault, kernel.name(), module, device.memory());
        device.gpu().printf().print(PrintfSink.Stream.REPORT, report);
        yield new GpuException(CudaStatus.of(fault.cudaResult()), fault.getMessage());
      }
      case null, default ->
          new GpuException(
              CudaStatus.LAUNCH_FAILED, "kernel " + kernel.name() + " could not be run: " + cause);
    };
  }
}
