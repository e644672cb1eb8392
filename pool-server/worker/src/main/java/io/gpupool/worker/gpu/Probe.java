// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.gpu;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.NvidiaBackend;
import io.gpupool.nccl.NcclException;
import io.gpupool.nccl.NcclSearch;
import io.gpupool.worker.os.Memory;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** Lists a backend's GPUs, a line each, for the pool-server. */
public final class Probe {
  private static final int NAME_BYTES = 256;
  private static final int UUID_BYTES = 16;
  private static final int MAJOR = 75;
  private static final int MINOR = 76;

  /** Names of a line's fields and the attributes that they are. */
  private static final Map<String, Integer> ATTRIBUTES =
      new TreeMap<>(
          Map.of(
              "multiprocessors",
              16,
              "clock",
              13,
              "memoryClock",
              36,
              "bus",
              37,
              "hostMemory",
              88,
              "computeMode",
              20));

  private Probe() {}

  /**
   * Returns the lines of a backend's GPUs, and one about NCCL where that could be used.
   *
   * @param libnccl where NCCL is: a path, or a word of {@link NcclSearch}
   */
  public static List<String> lines(Backend backend, String libnccl) {
    try (Arena arena = Arena.ofConfined()) {
      long out = arena.allocate(NAME_BYTES, 8).address();
      require("cuInit", backend.cuInit(0));
      require("cuDriverGetVersion", backend.cuDriverGetVersion(out));
      int driver = Memory.getInt(out);
      require("cuDeviceGetCount", backend.cuDeviceGetCount(out));
      int count = Memory.getInt(out);
      List<String> lines = new ArrayList<>();
      int ncclVersion = backend instanceof NvidiaBackend ? ncclVersion(libnccl, lines) : 0;
      for (int ordinal = 0; ordinal < count; ordinal++) {
        lines.add(line(backend, ordinal, driver, ncclVersion, out));
      }
      return lines;
    }
  }

  private static String line(Backend backend, int ordinal, int driver, int ncclVersion, long out) {
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
    // A format would load half of the languages' data at the start.
    StringBuilder line = new StringBuilder();
    line.append("ordinal=").append(ordinal);
    line.append(" uuid=GPU-").append(GpuIdentity.dashed(uuid));
    line.append(" memory=").append(memoryBytes);
    line.append(" cc=").append(major).append('.').append(minor);
    line.append(" driver=").append(driver);
    // Not every driver tells these.
    if (backend.cuDeviceGetPCIBusId(out, NAME_BYTES, device) == 0) {
      line.append(" pci=").append(Memory.text(out, NAME_BYTES));
    }
    ATTRIBUTES.forEach((field, attribute) -> {
      if (backend.cuDeviceGetAttribute(out, attribute, device) == 0 && Memory.getInt(out) > 0) {
        line.append(' ').append(field).append('=').append(Memory.getInt(out));
      }
    });
    if (backend instanceof NvidiaBackend) {
      long contextBytes =
          backend.contextBytes() > 0
              ? backend.contextBytes()
              : ContextMemory.measure(backend, ordinal);
      line.append(" context=").append(contextBytes);
      if (ncclVersion > 0) {
        line.append(" nccl=").append(ncclVersion);
      }
      driverText().ifPresent(text -> line.append(" version=").append(text));
    }
    return line.append(" name=").append(name).toString();
  }

  /** Returns the version of NCCL, 0 if there is none that can be used; adds a line that says so. */
  private static int ncclVersion(String libnccl, List<String> lines) {
    try {
      NcclSearch.Found found = NcclSearch.load(libnccl);
      lines.add(
          "nccl NCCL "
              + NcclSearch.text(found.version())
              + " carries out programs' collectives: "
              + found.path());
      return found.version();
    } catch (NcclException e) {
      lines.add("nccl no collectives at this server: " + e.getMessage());
      return 0;
    }
  }

  /** Returns the version text of the NVIDIA driver's kernel module. */
  private static Optional<String> driverText() {
    try {
      return Optional.of(Files.readString(Path.of("/sys/module/nvidia/version")).strip())
          .filter(text -> text.matches("[0-9.]{1,32}"));
    } catch (IOException e) {
      return Optional.empty();
    }
  }

  private static void require(String call, int result) {
    if (result != 0) {
      throw new IllegalStateException(call + " failed with CUDA error " + result);
    }
  }
}
