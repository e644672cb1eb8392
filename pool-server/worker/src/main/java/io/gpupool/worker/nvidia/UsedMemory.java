// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.nvidia;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.nvml.Nvml;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** Memory of GPUs that this process has, as the driver's management library reports it. */
final class UsedMemory {
  /** Source of the hexadecimal digits of a GPU's UUID; empty if that cannot be known. */
  interface Uuids {
    Optional<String> of(int gpu);
  }

  private final long pid = ProcessHandle.current().pid();
  private final Uuids uuids;
  private final @Nullable Nvml nvml;
  private final List<Nvml.Device> devices;

  @GuardedBy("this")
  private final Map<Integer, Optional<Nvml.Device>> byGpu = new HashMap<>();

  /**
   * Opens the library; where that cannot be, nothing is told.
   *
   * @param libnvml a path, or a name for the dynamic linker
   */
  UsedMemory(String libnvml, Uuids uuids) {
    this.uuids = uuids;
    nvml = Nvml.open(libnvml).orElse(null);
    devices = nvml == null ? List.of() : nvml.devices();
  }

  /** Returns the memory of a GPU in bytes; empty if it is not known. */
  synchronized OptionalLong bytes(int gpu) {
    Optional<Nvml.Device> device = byGpu.computeIfAbsent(gpu, this::find);
    return nvml == null || device.isEmpty()
        ? OptionalLong.empty()
        : nvml.usedBytes(device.get(), pid);
  }

  private Optional<Nvml.Device> find(int gpu) {
    Optional<String> digits = uuids.of(gpu);
    return devices.stream()
        .filter(device ->
            digits.filter(uuid -> device.uuid().replace("-", "").endsWith(uuid)).isPresent())
        .findFirst();
  }
}
