// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.gpu;

import io.gpupool.cuda.Backend;
import io.gpupool.worker.os.Memory;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.util.HexFormat;
import java.util.List;

/**
 * Check that a driver counts its GPUs as it did when the server took its inventory. A GPU that has
 * dropped out since, or another order of numbering, would put a session on a GPU of somebody else.
 */
public final class GpuIdentity {
  private static final int UUID_BYTES = 16;

  private GpuIdentity() {}

  /**
   * Compares UUIDs.
   *
   * @param ordinals the backend's
   * @param uuids of the lease's GPUs, in the same order; empty: they are not known
   * @throws IOException if a GPU is another one, or cannot be asked
   */
  public static void require(Backend backend, List<Integer> ordinals, List<String> uuids)
      throws IOException {
    for (int i = 0; i < uuids.size(); i++) {
      String found = uuid(backend, ordinals.get(i));
      if (!uuids.get(i).endsWith(found)) {
        throw new IOException(
            "GPU %d of the driver is %s, and the lease is of %s: the driver counts its GPUs in another"
                    .formatted(ordinals.get(i), found, uuids.get(i))
                + " order than when the server started, or has lost one; restart the server");
      }
    }
  }

  private static String uuid(Backend backend, int ordinal) throws IOException {
    try (Arena arena = Arena.ofConfined()) {
      long out = arena.allocate(UUID_BYTES, 8).address();
      int result = backend.cuDeviceGet(out, ordinal);
      if (result == 0) {
        result = backend.cuDeviceGetUuid_v2(out, Memory.getInt(out));
      }
      if (result != 0) {
        throw new IOException("GPU %d of the driver: CUDA error %d".formatted(ordinal, result));
      }
      return dashed(HexFormat.of().formatHex(Memory.bytes(out, UUID_BYTES)));
    }
  }

  /** A UUID as it is written. */
  static String dashed(String hex) {
    return hex.replaceFirst("(.{8})(.{4})(.{4})(.{4})(.{12})", "$1-$2-$3-$4-$5");
  }
}
