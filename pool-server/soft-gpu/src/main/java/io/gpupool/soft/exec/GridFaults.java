// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec;

import io.gpupool.soft.exec.block.CompiledKernel;
import io.gpupool.soft.exec.block.ThreadBlock;
import io.gpupool.soft.exec.launch.DeviceFaultException;
import io.gpupool.soft.exec.launch.FaultPlace;
import io.gpupool.soft.exec.launch.KernelFaultException;
import org.jspecify.annotations.Nullable;

/** The faults of a kernel's grids, with the place where they happened. Any thread may call it. */
final class GridFaults {
  private final CompiledKernel kernel;

  GridFaults(CompiledKernel kernel) {
    this.kernel = kernel;
  }

  /** Returns the fault that a thread of a block ran into. */
  KernelFaultException of(ThreadBlock block, DeviceFaultException fault) {
    return new KernelFaultException(
        fault.cudaResult(), describe(block, fault, fault.getMessage()), place(block, fault));
  }

  /** Returns the fault by a failure of the engine itself. */
  KernelFaultException unexpected(ThreadBlock block, Throwable problem) {
    return new KernelFaultException(
        KernelFaultException.LAUNCH_FAILED, describe(block, problem, problem.toString()));
  }

  private FaultPlace place(ThreadBlock block, DeviceFaultException fault) {
    int thread = fault.thread().orElse(block.faulted);
    return new FaultPlace(
        line(fault),
        block.coordinates(),
        thread < 0 ? null : block.coordinates(thread),
        fault.globalAddress().orElse(null));
  }

  /** Returns the line of the PTX at which a problem arose, or 0 if it is not known. */
  private int line(Throwable problem) {
    for (StackTraceElement element : problem.getStackTrace()) {
      if (element.getClassName().equals(kernel.code().getClass().getName())
          && element.getLineNumber() > 0) {
        return element.getLineNumber();
      }
    }
    return 0;
  }

  private String describe(ThreadBlock block, Throwable problem, @Nullable String what) {
    StringBuilder text = new StringBuilder("kernel ").append(kernel.name());
    text.append(", block (").append(block.coordinates()).append(')');
    int line = line(problem);
    if (line > 0) {
      text.append(", PTX line ").append(line);
    }
    return text.append(": ").append(what).toString();
  }
}
