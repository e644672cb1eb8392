// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec;

import java.util.Optional;

/** Unwinds a device thread that did something fatal; becomes a {@link KernelFault}. */
final class DeviceFault extends RuntimeException {
  private final int cudaResult;
  private final Optional<Long> globalAddress;

  DeviceFault(int cudaResult, String message) {
    this(cudaResult, message, Optional.empty());
  }

  /** A fault by touching an address of global memory. */
  DeviceFault(int cudaResult, String message, Optional<Long> globalAddress) {
    super(message);
    this.cudaResult = cudaResult;
    this.globalAddress = globalAddress;
  }

  int cudaResult() {
    return cudaResult;
  }

  Optional<Long> globalAddress() {
    return globalAddress;
  }
}
