// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.launch;

import java.util.Optional;

/** A kernel stopped abnormally; carries the CUDA result code that its context must report. */
public final class KernelFaultException extends Exception {
  public static final int ILLEGAL_ADDRESS = 700;
  public static final int LAUNCH_TIMEOUT = 702;
  public static final int ASSERT = 710;
  public static final int ILLEGAL_INSTRUCTION = 715;
  public static final int MISALIGNED_ADDRESS = 716;
  public static final int INVALID_PC = 718;
  public static final int LAUNCH_FAILED = 719;

  private final int cudaResult;
  private final Optional<FaultPlace> place;

  public KernelFaultException(int cudaResult, String message) {
    this(cudaResult, message, Optional.empty());
  }

  public KernelFaultException(int cudaResult, String message, Optional<FaultPlace> place) {
    super(message);
    this.cudaResult = cudaResult;
    this.place = place;
  }

  /** Where it happened; empty for a launch that was ended from outside. */
  public Optional<FaultPlace> place() {
    return place;
  }

  /** The CUresult value. */
  public int cudaResult() {
    return cudaResult;
  }
}
