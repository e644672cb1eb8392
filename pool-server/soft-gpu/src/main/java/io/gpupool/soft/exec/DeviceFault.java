// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec;

/** Unwinds a device thread that did something fatal; becomes a {@link KernelFault}. */
final class DeviceFault extends RuntimeException {
  private final int cudaResult;

  DeviceFault(int cudaResult, String message) {
    super(message);
    this.cudaResult = cudaResult;
  }

  int cudaResult() {
    return cudaResult;
  }
}
