// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.state;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.work.Completion;

/** Waits of driver calls. */
public final class Waiting {
  private Waiting() {}

  public static void await(Completion completion) {
    try {
      completion.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new GpuException(CudaStatus.UNKNOWN, "interrupted while waiting for the device");
    }
  }
}
