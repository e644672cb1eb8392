// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

/** The CUresult values that a session gives or understands by itself. */
final class CudaResult {
  static final int SUCCESS = 0;
  static final int INVALID_VALUE = 1;
  static final int OUT_OF_MEMORY = 2;
  static final int INVALID_DEVICE = 101;
  static final int DEVICE_UNAVAILABLE = 46;
  static final int INVALID_IMAGE = 200;
  static final int INVALID_CONTEXT = 201;
  static final int INVALID_HANDLE = 400;
  static final int NOT_READY = 600;
  static final int CONTEXT_IS_DESTROYED = 709;
  static final int NOT_SUPPORTED = 801;
  static final int UNKNOWN = 999;

  private CudaResult() {}

  /** Whether every later call of the context returns the same. */
  static boolean isSticky(int result) {
    return result == 700 || result == 702 || result == 710 || result >= 714 && result <= 719;
  }
}
