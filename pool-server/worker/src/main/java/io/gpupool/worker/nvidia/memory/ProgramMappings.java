// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.nvidia.memory;

import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;

/**
 * The addresses that the program has reserved for itself in a range, and its mappings wherever they
 * are. Guarded by its user.
 */
final class ProgramMappings {
  private static final int NOT_SET = -1;

  private final FreeAddresses addresses;
  private final TreeMap<Long, Long> reserved = new TreeMap<>();
  private final TreeMap<Long, Mapping> mappings = new TreeMap<>();

  /**
   * A mapping.
   *
   * @param access CUmemAccess_flags that were set last
   */
  record Mapping(long lengthBytes, int access) {}

  ProgramMappings(long start, long lengthBytes) {
    addresses = new FreeAddresses(start, lengthBytes);
  }

  /** Reserves addresses; empty if there are not so many. */
  OptionalLong reserve(long lengthBytes, long alignmentBytes) {
    OptionalLong address = addresses.take(lengthBytes, alignmentBytes);
    address.ifPresent(taken -> reserved.put(taken, lengthBytes));
    return address;
  }

  /** Reserves these addresses; false if they are not free, or elsewhere. */
  boolean reserveAt(long address, long lengthBytes) {
    boolean taken = addresses.takeAt(address, lengthBytes);
    if (taken) {
      reserved.put(address, lengthBytes);
    }
    return taken;
  }

  /** Gives addresses back; false if they were not reserved here. */
  boolean free(long address, long lengthBytes) {
    boolean gone = reserved.remove(address, lengthBytes);
    if (gone) {
      addresses.give(address, lengthBytes);
    }
    return gone;
  }

  void map(long address, long lengthBytes) {
    mappings.put(address, new Mapping(lengthBytes, NOT_SET));
  }

  /** Whether there is a mapping in some addresses. */
  boolean isMapped(long address, long lengthBytes) {
    return !mappings.subMap(address, address + lengthBytes).isEmpty();
  }

  void unmap(long address, long lengthBytes) {
    mappings.subMap(address, address + lengthBytes).clear();
  }

  void setAccess(long address, long lengthBytes, int access) {
    mappings
        .subMap(address, address + lengthBytes)
        .replaceAll((at, mapping) -> new Mapping(mapping.lengthBytes, access));
  }

  /** Returns what cannot be read, or written again, if there is such a thing. */
  Optional<String> fixed() {
    return mappings.values().stream()
            .anyMatch(
                mapping -> mapping.access != BlockMapper.READ_WRITE && mapping.access != NOT_SET)
        ? Optional.of("a mapping that its GPU may not read and write")
        : Optional.empty();
  }

  /** Returns the mappings that can be read, by address. */
  TreeMap<Long, Mapping> readable() {
    TreeMap<Long, Mapping> readable = new TreeMap<>(mappings);
    readable.values().removeIf(mapping -> mapping.access != BlockMapper.READ_WRITE);
    return readable;
  }
}
