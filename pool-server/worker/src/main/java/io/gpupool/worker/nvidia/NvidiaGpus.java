// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.nvidia;

import io.gpupool.cuda.DriverAddresses;
import io.gpupool.cuda.NvidiaBackend;
import io.gpupool.worker.os.Memory;
import java.lang.foreign.Arena;
import java.util.List;

/** GPUs of NVIDIA's driver, as a session uses them. */
public final class NvidiaGpus extends NvidiaBackend {
  /** CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, and _USES_HOST_PAGE_TABLES. */
  private static final int[] PAGEABLE_MEMORY = {88, 100};

  @Override
  public boolean moveTo(int slot, List<Integer> gpus) {
    // The driver maps device memory below what is taken when it makes a context.
    DriverAddresses.reserve(slot);
    return true;
  }

  /**
   * Nothing where a GPU reads pageable memory by itself, through the host's page tables or by
   * faults: the driver then may not have read the source when a copy returns.
   */
  @Override
  public long sourceReadAtOnceBytes() {
    return readsPageableMemory() ? 0 : super.sourceReadAtOnceBytes();
  }

  private boolean readsPageableMemory() {
    try (Arena arena = Arena.ofConfined()) {
      long out = arena.allocate(8, 8).address();
      int count = cuDeviceGetCount(out) == 0 ? Memory.getInt(out) : 0;
      for (int ordinal = 0; ordinal < count; ordinal++) {
        int device = cuDeviceGet(out, ordinal) == 0 ? Memory.getInt(out) : -1;
        for (int attribute : PAGEABLE_MEMORY) {
          if (cuDeviceGetAttribute(out, attribute, device) == 0 && Memory.getInt(out) != 0) {
            return true;
          }
        }
      }
      return false;
    }
  }
}
