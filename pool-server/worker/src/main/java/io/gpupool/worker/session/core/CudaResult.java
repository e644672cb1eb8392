// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.core;

/** The CUresult values that a session gives or understands by itself. */
public final class CudaResult {
  public static final int SUCCESS = 0;
  public static final int INVALID_VALUE = 1;
  public static final int OUT_OF_MEMORY = 2;
  public static final int INVALID_DEVICE = 101;
  public static final int DEVICE_UNAVAILABLE = 46;
  public static final int INVALID_IMAGE = 200;
  public static final int INVALID_CONTEXT = 201;
  public static final int INVALID_HANDLE = 400;
  public static final int NOT_READY = 600;
  public static final int CONTEXT_IS_DESTROYED = 709;
  public static final int NOT_SUPPORTED = 801;
  public static final int UNKNOWN = 999;

  private CudaResult() {}

  /** Whether every later call of the context returns the same. */
  public static boolean isSticky(int result) {
    return result == 700 || result == 702 || result == 710 || result >= 714 && result <= 719;
  }
}
