// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.collective;

/** The ncclResult_t values that communicators have. */
final class NcclResult {
  static final int SUCCESS = 0;
  static final int UNHANDLED_CUDA_ERROR = 1;
  static final int SYSTEM_ERROR = 2;
  static final int INTERNAL_ERROR = 3;
  static final int INVALID_USAGE = 5;
  static final int REMOTE_ERROR = 6;
  static final int IN_PROGRESS = 7;

  private NcclResult() {}
}
