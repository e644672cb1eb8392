// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec;

import java.util.Optional;
import java.util.OptionalInt;

/** Unwinds a device thread that did something fatal; becomes a {@link KernelFault}. */
final class DeviceFault extends RuntimeException {
  private final int cudaResult;
  private final Optional<Long> globalAddress;
  private final OptionalInt thread;

  DeviceFault(int cudaResult, String message) {
    this(cudaResult, message, Optional.empty());
  }

  /** A fault by touching an address of global memory. */
  DeviceFault(int cudaResult, String message, Optional<Long> globalAddress) {
    this(cudaResult, message, globalAddress, OptionalInt.empty());
  }

  private DeviceFault(
      int cudaResult, String message, Optional<Long> globalAddress, OptionalInt thread) {
    super(message);
    this.cudaResult = cudaResult;
    this.globalAddress = globalAddress;
    this.thread = thread;
  }

  /** A failed assertion, which is thrown only after others of the block have run. */
  static DeviceFault assertion(int thread, String message) {
    return new DeviceFault(KernelFault.ASSERT, message, Optional.empty(), OptionalInt.of(thread));
  }

  int cudaResult() {
    return cudaResult;
  }

  /** The thread whose fault it is, if that need not be the one that runs. */
  OptionalInt thread() {
    return thread;
  }

  Optional<Long> globalAddress() {
    return globalAddress;
  }
}
