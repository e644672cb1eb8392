// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.deviceplugin;

import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.SequencedSet;

/**
 * The preferred devices of a container: the lowest, because the highest are the first to go when
 * the pool shrinks.
 */
final class PreferredAllocation {
  private PreferredAllocation() {}

  /**
   * Chooses the devices that must be included and the lowest of the others: as many as are wanted,
   * or all that there are.
   *
   * @throws IllegalArgumentException if more must be included than are wanted
   */
  static List<String> choose(List<String> available, List<String> mustInclude, int size) {
    SequencedSet<String> chosen = new LinkedHashSet<>(mustInclude);
    if (size < chosen.size()) {
      throw new IllegalArgumentException(
          "of " + size + " devices " + chosen.size() + " cannot be the ones that must be included");
    }
    available.stream()
        .filter(id -> !chosen.contains(id))
        .distinct()
        .map(Ranked::of)
        .sorted(Comparator.comparingInt(Ranked::number).thenComparing(Ranked::id))
        .limit(size - chosen.size())
        .toList()
        .forEach(seat -> chosen.add(seat.id()));
    return List.copyOf(chosen);
  }

  /** A device ID with its number, which is parsed once; IDs without a number come last. */
  private record Ranked(String id, int number) {
    static Ranked of(String id) {
      return new Ranked(id, DeviceId.number(id).orElse(Integer.MAX_VALUE));
    }
  }
}
