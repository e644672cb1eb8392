// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import io.gpupool.server.state.RecordStore;
import io.gpupool.server.state.Versioned;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The GPUs there are, and what of each can be granted. Owned by the control thread. */
final class Capacity {
  private final Map<GpuKey, Gpu> gpus = new LinkedHashMap<>();
  private final RecordStore records;

  Capacity(List<Gpu> gpus, RecordStore records) {
    gpus.forEach(gpu -> this.gpus.put(GpuKey.of(gpu), gpu));
    this.records = records;
  }

  List<Gpu> gpus() {
    return List.copyOf(gpus.values());
  }

  Optional<Gpu> gpu(GpuKey key) {
    return Optional.ofNullable(gpus.get(key));
  }

  Division division(Gpu gpu) {
    return records
        .get(Kinds.DIVISIONS, GpuKey.of(gpu).text())
        .map(Versioned::value)
        .orElse(Division.UNDIVIDED);
  }

  /** Every part of every GPU that can be granted from. */
  List<Placement.Offer> snapshot() {
    return gpus.values().stream().flatMap(gpu -> division(gpu).offers(gpu).stream()).toList();
  }

  /** What of a GPU nobody has, in partitions or outside. */
  Share free(Gpu gpu) {
    return division(gpu).offers(gpu).stream()
        .map(Placement.Offer::free)
        .reduce(Share.NONE, Share::plus);
  }
}
