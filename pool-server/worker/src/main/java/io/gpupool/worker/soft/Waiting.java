// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.Completion;

/** Waits of driver calls. */
final class Waiting {
  private Waiting() {}

  static void await(Completion completion) {
    try {
      completion.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new GpuException(CudaStatus.UNKNOWN, "interrupted while waiting for the device");
    }
  }

  /** Throws NOT_READY unless it is over. */
  static void requireDone(Completion completion) {
    if (!completion.isDone()) {
      throw new GpuException(CudaStatus.NOT_READY, "not ready");
    }
  }
}
