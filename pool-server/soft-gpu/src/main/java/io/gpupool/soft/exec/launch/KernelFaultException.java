// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.launch;

import java.util.Optional;
import org.jspecify.annotations.Nullable;

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
  private final @Nullable FaultPlace place;

  public KernelFaultException(int cudaResult, String message) {
    this(cudaResult, message, null);
  }

  public KernelFaultException(int cudaResult, String message, @Nullable FaultPlace place) {
    super(message);
    this.cudaResult = cudaResult;
    this.place = place;
  }

  /** Returns where it happened; empty for a launch that was ended from outside. */
  public Optional<FaultPlace> place() {
    return Optional.ofNullable(place);
  }

  /** Returns the CUresult value. */
  public int cudaResult() {
    return cudaResult;
  }
}
