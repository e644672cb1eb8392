// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.runtime;

import org.jspecify.annotations.Nullable;

/** A call of the device runtime failed; the kernel is told the cudaError, and goes on. */
public final class RuntimeCallException extends RuntimeException {
  public static final int INVALID_VALUE = 1;
  public static final int MEMORY_ALLOCATION = 2;
  public static final int INVALID_CONFIGURATION = 9;
  public static final int INVALID_MEMCPY_DIRECTION = 21;
  public static final int LAUNCH_MAX_DEPTH_EXCEEDED = 65;
  public static final int LAUNCH_PENDING_COUNT_EXCEEDED = 69;
  public static final int INVALID_DEVICE_FUNCTION = 98;
  public static final int INVALID_DEVICE = 101;
  public static final int INVALID_RESOURCE_HANDLE = 400;
  public static final int NOT_SUPPORTED = 801;

  private final int error;

  public RuntimeCallException(int error, @Nullable String message) {
    super(message, null, false, false);
    this.error = error;
  }

  /** The cudaError. */
  public int error() {
    return error;
  }
}
