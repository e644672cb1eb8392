// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.memory;

import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.Optional;

/**
 * The latest pieces of memory that were freed, to tell where an address lies. Not thread-safe;
 * {@link DeviceMemory} guards it.
 */
final class FreedMemory {
  private static final int MAX_PIECES = 256;

  private final Deque<Piece> pieces = new ArrayDeque<>();

  /** A piece of memory that is no allocation any more. */
  private record Piece(long address, long occupiedBytes) {
    boolean contains(long other) {
      return other - address >= 0 && other - address < occupiedBytes;
    }
  }

  void add(long address, long occupiedBytes) {
    pieces.addLast(new Piece(address, occupiedBytes));
    if (pieces.size() > MAX_PIECES) {
      pieces.removeFirst();
    }
  }

  /**
   * Says where an address lies: in which allocation, in one that was freed, or beside which.
   *
   * @param around the allocations next to it
   */
  String describe(long address, List<Allocation> around) {
    Optional<Piece> gone =
        pieces.reversed().stream().filter(piece -> piece.contains(address)).findFirst();
    Optional<Allocation> inside =
        around.stream().filter(allocation -> allocation.contains(address, 1)).findFirst();
    if (inside.isPresent()) {
      return address - inside.get().address() + " bytes into " + inside.get().text();
    }
    if (gone.isPresent()) {
      return "%d bytes into memory at 0x%x that was freed, of up to %d bytes"
          .formatted(address - gone.get().address, gone.get().address, gone.get().occupiedBytes);
    }
    return around.stream()
        .min(Comparator.comparingLong(allocation -> distance(allocation, address)))
        .map(allocation ->
            "%d bytes %s %s"
                .formatted(
                    distance(allocation, address),
                    address < allocation.address() ? "before" : "behind",
                    allocation.text()))
        .orElse("nothing is allocated");
  }

  /** Bytes between an allocation and an address outside of it. */
  private static long distance(Allocation allocation, long address) {
    return address < allocation.address()
        ? allocation.address() - address
        : address - (allocation.address() + allocation.sizeBytes());
  }
}
