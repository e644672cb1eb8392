// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.nvidia;

import io.gpupool.cuda.DriverAddresses;
import io.gpupool.cuda.NvidiaBackend;
import java.util.List;

/** GPUs of NVIDIA's driver, as a session uses them. */
public final class NvidiaGpus extends NvidiaBackend {
  @Override
  public boolean moveTo(int slot, List<Integer> gpus) {
    // The driver maps device memory below what is taken when it makes a context.
    DriverAddresses.reserve(slot);
    return true;
  }
}
