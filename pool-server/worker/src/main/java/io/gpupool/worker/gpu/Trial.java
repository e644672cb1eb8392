// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.gpu;

import io.gpupool.cuda.Backend;
import io.gpupool.worker.os.Memory;
import java.lang.foreign.Arena;

/** A trial of a GPU after a fault: a little of everything, to find out whether it works again. */
public final class Trial {
  private static final int WORDS = 1 << 18;
  private static final int PATTERN = 0x5eed1e55;

  private Trial() {}

  /**
   * Makes a context on the first GPU, fills memory and reads it back.
   *
   * @throws IllegalStateException naming the call that failed, or that memory does not hold what
   *     was put there
   */
  public static void run(Backend backend) {
    try (Arena arena = Arena.ofConfined()) {
      long out = arena.allocate(16, 8).address();
      require("cuDeviceGet", backend.cuDeviceGet(out, 0));
      require(
          "cuDevicePrimaryCtxRetain", backend.cuDevicePrimaryCtxRetain(out, Memory.getInt(out)));
      require("cuCtxSetCurrent", backend.cuCtxSetCurrent(Memory.getLong(out)));
      require("cuMemAlloc", backend.cuMemAlloc_v2(out, 4L * WORDS));
      long device = Memory.getLong(out);
      require("cuMemsetD32Async", backend.cuMemsetD32Async(device, PATTERN, WORDS, 0));
      long host = arena.allocate(4L * WORDS, 8).address();
      require("cuMemcpyDtoHAsync", backend.cuMemcpyDtoHAsync_v2(host, device, 4L * WORDS, 0));
      require("cuCtxSynchronize", backend.cuCtxSynchronize());
      for (long word = 0; word < WORDS; word++) {
        if (Memory.getInt(host + 4 * word) != PATTERN) {
          throw new IllegalStateException("memory does not hold what was put there");
        }
      }
      require("cuMemFree", backend.cuMemFree_v2(device));
    }
  }

  private static void require(String call, int result) {
    if (result != 0) {
      throw new IllegalStateException(call + " failed with CUDA error " + result);
    }
  }
}
