// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.gpu;

import io.gpupool.nvml.Nvml;
import java.util.List;

/** GPUs that are divided into slices by the card itself (MIG). */
public final class DividedCards {
  private DividedCards() {}

  /**
   * What there is on this machine, slices and undivided GPUs, by UUID, if any GPU is divided; else
   * nothing, and the CUDA driver's own list is all there is to know.
   */
  public static List<String> uuids(String libnvml) {
    List<Nvml.Device> devices = Nvml.open(libnvml).map(Nvml::devices).orElse(List.of());
    return devices.stream().anyMatch(Nvml.Device::isSlice)
        ? devices.stream().map(Nvml.Device::uuid).toList()
        : List.of();
  }
}
