// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft;

import static java.util.Objects.requireNonNull;

import org.jspecify.annotations.Nullable;

/** A call on the software GPU was refused or failed; carries the CUresult that it must give. */
public final class GpuException extends RuntimeException {
  private final CudaStatus status;

  public GpuException(CudaStatus status, @Nullable String message) {
    // The result code is the answer to a call, not a defect: no stack trace is worth its cost.
    super(requireNonNull(message, "message"), null, false, false);
    this.status = requireNonNull(status, "status");
  }

  public CudaStatus status() {
    return status;
  }
}
