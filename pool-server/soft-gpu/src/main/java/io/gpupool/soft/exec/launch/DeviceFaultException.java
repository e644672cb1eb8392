// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.launch;

import java.util.Optional;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/** The end of a device thread that did something fatal; becomes a {@link KernelFaultException}. */
public final class DeviceFaultException extends RuntimeException {
  private final int cudaResult;
  private final @Nullable Long globalAddress;
  private final @Nullable Integer thread;

  public DeviceFaultException(int cudaResult, String message) {
    this(cudaResult, message, null, null);
  }

  /** Makes the fault of an access to an address of global memory. */
  public DeviceFaultException(int cudaResult, String message, long globalAddress) {
    this(cudaResult, message, globalAddress, null);
  }

  private DeviceFaultException(
      int cudaResult, String message, @Nullable Long globalAddress, @Nullable Integer thread) {
    super(message);
    this.cudaResult = cudaResult;
    this.globalAddress = globalAddress;
    this.thread = thread;
  }

  /** Makes the fault of a failed assertion, thrown only after others of the block have run. */
  public static DeviceFaultException assertion(int thread, String message) {
    return new DeviceFaultException(KernelFaultException.ASSERT, message, null, thread);
  }

  public int cudaResult() {
    return cudaResult;
  }

  /** Returns the thread that faulted, if that need not be the one that runs. */
  public OptionalInt thread() {
    return thread == null ? OptionalInt.empty() : OptionalInt.of(thread);
  }

  /** Returns the address of global memory that the thread touched. */
  public Optional<Long> globalAddress() {
    return Optional.ofNullable(globalAddress);
  }
}
