// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.nvidia;

import io.gpupool.nvml.Nvml;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/** Memory of GPUs that this process has, as the driver's management library tells it. */
final class UsedMemory {
  /** Tells the hexadecimal digits of a GPU's UUID; empty if that cannot be known. */
  interface Uuids {
    Optional<String> of(int gpu);
  }

  private final long pid = ProcessHandle.current().pid();
  private final Uuids uuids;
  private final Optional<Nvml> nvml;
  private final List<Nvml.Device> devices;

  // Guarded by this.
  private final Map<Integer, Optional<Nvml.Device>> byGpu = new HashMap<>();

  /**
   * Opens the library; where that cannot be, nothing is told.
   *
   * @param libnvml a path, or a name for the dynamic linker
   */
  UsedMemory(String libnvml, Uuids uuids) {
    this.uuids = uuids;
    nvml = Nvml.open(libnvml);
    devices = nvml.map(Nvml::devices).orElse(List.of());
  }

  /** In bytes; empty if it is not told. */
  synchronized OptionalLong bytes(int gpu) {
    Optional<Nvml.Device> device = byGpu.computeIfAbsent(gpu, this::find);
    return device.isEmpty()
        ? OptionalLong.empty()
        : nvml.orElseThrow().usedBytes(device.get(), pid);
  }

  private Optional<Nvml.Device> find(int gpu) {
    Optional<String> digits = uuids.of(gpu);
    return devices.stream()
        .filter(device ->
            digits.filter(uuid -> device.uuid().replace("-", "").endsWith(uuid)).isPresent())
        .findFirst();
  }
}
