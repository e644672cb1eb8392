// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.module;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.exec.launch.FaultPlace;
import io.gpupool.soft.exec.launch.KernelFaultException;
import io.gpupool.soft.memory.DeviceMemory;
import io.gpupool.soft.ptx.module.PtxModule;
import java.nio.charset.StandardCharsets;

/** The report of a kernel fault that a program gets if it asked for one. */
final class FaultReport {
  private FaultReport() {}

  static byte[] of(
      KernelFaultException fault, String kernel, PtxModule module, DeviceMemory memory) {
    String head = "gpupool check: " + CudaStatus.of(fault.cudaResult());
    StringBuilder text = new StringBuilder(head).append(": ").append(fault.getMessage());
    fault.place().ifPresent(place -> append(text, place, kernel, module, memory));
    return text.append('\n').toString().getBytes(StandardCharsets.UTF_8);
  }

  private static void append(
      StringBuilder text, FaultPlace place, String kernel, PtxModule module, DeviceMemory memory) {
    String start = "\ngpupool check:     ";
    text.append(start).append("in kernel ").append(kernel);
    if (place.line() > 0) {
      text.append(" at line ").append(place.line()).append(" of its PTX");
    }
    module
        .sourceLine(kernel, place.line())
        .ifPresent(source -> text.append(start).append("made from ").append(source));
    text.append(start).append("by block (").append(place.block()).append(')');
    if (place.thread() != null) {
      text.append(", thread (").append(place.thread()).append(')');
    }
    Long address = place.globalAddress();
    if (address != null) {
      text.append(start)
          .append("address 0x")
          .append(Long.toHexString(address))
          .append(" is ")
          .append(memory.describe(address));
    }
  }
}
