// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What of each GPU is not granted. Owned by the control thread. */
final class Capacity {
  private final Map<Gpu, Share> free = new LinkedHashMap<>();

  Capacity(List<Gpu> gpus) {
    gpus.forEach(gpu -> free.put(gpu, gpu.whole()));
  }

  List<Placement.Offer> snapshot() {
    return free.entrySet().stream()
        .map(e -> new Placement.Offer(e.getKey(), e.getValue()))
        .toList();
  }

  Share free(Gpu gpu) {
    return free.get(gpu);
  }

  /** Takes all parts; that they fit was checked, and is checked again. */
  void take(List<Placement.Part> parts) {
    parts.forEach(part -> free.computeIfPresent(part.gpu(), (g, f) -> f.minus(part.share())));
  }

  void giveBack(List<Placement.Part> parts) {
    for (Placement.Part part : parts) {
      Share now = free.get(part.gpu()).plus(part.share());
      if (!part.gpu().whole().covers(now)) {
        throw new IllegalStateException("more of " + part.gpu().label() + " free than there is");
      }
      free.put(part.gpu(), now);
    }
  }
}
