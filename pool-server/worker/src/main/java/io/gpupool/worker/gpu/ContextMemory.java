// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.gpu;

import io.gpupool.cuda.Backend;
import io.gpupool.worker.os.Memory;
import java.lang.foreign.Arena;

/** Measurement of the memory that a context takes of a GPU by itself. */
final class ContextMemory {
  private ContextMemory() {}

  /**
   * Makes a context and ends it again.
   *
   * @param ordinal the backend's
   * @return bytes; 0 if no context can be made
   */
  static long measure(Backend backend, int ordinal) {
    try (Arena arena = Arena.ofConfined()) {
      long out = arena.allocate(2 * Long.BYTES, Long.BYTES).address();
      if (backend.cuDeviceGet(out, ordinal) != 0) {
        return 0;
      }
      int device = Memory.getInt(out);
      if (backend.cuDevicePrimaryCtxRetain(out, device) != 0) {
        return 0;
      }
      try {
        long told = backend.usedMemoryBytes(ordinal);
        return told > 0 ? told : ofAnother(backend, Memory.getLong(out), device, out);
      } finally {
        int ignored = backend.cuDevicePrimaryCtxRelease_v2(device);
      }
    }
  }

  /** By what the card has less after a second context. */
  private static long ofAnother(Backend backend, long first, int device, long out) {
    if (backend.cuCtxSetCurrent(first) != 0 || backend.cuMemGetInfo_v2(out, out + 8) != 0) {
      return 0;
    }
    long before = Memory.getLong(out);
    if (backend.cuCtxCreate_v2(out, 0, device) != 0) {
      return 0;
    }
    long second = Memory.getLong(out);
    boolean told = backend.cuMemGetInfo_v2(out, out + 8) == 0;
    long after = Memory.getLong(out);
    int ignored = backend.cuCtxDestroy_v2(second);
    return told ? Math.max(0, before - after) : 0;
  }
}
