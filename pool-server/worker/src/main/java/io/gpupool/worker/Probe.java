// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker;

import io.gpupool.cuda.Backend;
import io.gpupool.worker.os.Memory;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

/** Lists a backend's GPUs, a line each, for the pool-server. */
final class Probe {
  private static final int NAME_BYTES = 256;
  private static final int UUID_BYTES = 16;
  private static final int MAJOR = 75;
  private static final int MINOR = 76;

  private Probe() {}

  static List<String> lines(Backend backend) {
    try (Arena arena = Arena.ofConfined()) {
      long out = arena.allocate(NAME_BYTES, 8).address();
      require("cuInit", backend.cuInit(0));
      require("cuDriverGetVersion", backend.cuDriverGetVersion(out));
      int driver = Memory.getInt(out);
      require("cuDeviceGetCount", backend.cuDeviceGetCount(out));
      int count = Memory.getInt(out);
      List<String> lines = new ArrayList<>();
      for (int ordinal = 0; ordinal < count; ordinal++) {
        lines.add(line(backend, ordinal, driver, out));
      }
      return lines;
    }
  }

  private static String line(Backend backend, int ordinal, int driver, long out) {
    require("cuDeviceGet", backend.cuDeviceGet(out, ordinal));
    int device = Memory.getInt(out);
    require("cuDeviceGetUuid", backend.cuDeviceGetUuid_v2(out, device));
    String uuid = HexFormat.of().formatHex(Memory.bytes(out, UUID_BYTES));
    require("cuDeviceTotalMem", backend.cuDeviceTotalMem_v2(out, device));
    long memoryBytes = Memory.getLong(out);
    require("cuDeviceGetAttribute", backend.cuDeviceGetAttribute(out, MAJOR, device));
    int major = Memory.getInt(out);
    require("cuDeviceGetAttribute", backend.cuDeviceGetAttribute(out, MINOR, device));
    int minor = Memory.getInt(out);
    require("cuDeviceGetName", backend.cuDeviceGetName(out, NAME_BYTES, device));
    String name = Memory.text(out, NAME_BYTES);
    return "ordinal=%d uuid=GPU-%s memory=%d cc=%d.%d driver=%d name=%s"
        .formatted(ordinal, dashed(uuid), memoryBytes, major, minor, driver, name);
  }

  private static String dashed(String hex) {
    return hex.replaceFirst("(.{8})(.{4})(.{4})(.{4})(.{12})", "$1-$2-$3-$4-$5");
  }

  private static void require(String call, int result) {
    if (result != 0) {
      throw new IllegalStateException(call + " failed with CUDA error " + result);
    }
  }
}
