// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec;

import io.gpupool.soft.exec.launch.KernelFaultException;
import java.util.Optional;
import java.util.OptionalInt;

/** The end of a device thread that did something fatal; becomes a {@link KernelFaultException}. */
final class DeviceFaultException extends RuntimeException {
  private final int cudaResult;
  private final Optional<Long> globalAddress;
  private final OptionalInt thread;

  DeviceFaultException(int cudaResult, String message) {
    this(cudaResult, message, Optional.empty());
  }

  /** A fault by touching an address of global memory. */
  DeviceFaultException(int cudaResult, String message, Optional<Long> globalAddress) {
    this(cudaResult, message, globalAddress, OptionalInt.empty());
  }

  private DeviceFaultException(
      int cudaResult, String message, Optional<Long> globalAddress, OptionalInt thread) {
    super(message);
    this.cudaResult = cudaResult;
    this.globalAddress = globalAddress;
    this.thread = thread;
  }

  /** A failed assertion, which is thrown only after others of the block have run. */
  static DeviceFaultException assertion(int thread, String message) {
    return new DeviceFaultException(
        KernelFaultException.ASSERT, message, Optional.empty(), OptionalInt.of(thread));
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
