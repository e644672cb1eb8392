// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.nvidia.memory;

import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;

/** The free addresses of a range, of which the lowest that fit are given out. */
final class FreeAddresses {
  private final long lengthBytes;

  /** The lengths of free pieces, none of which touch, by address. */
  private final TreeMap<Long, Long> pieces = new TreeMap<>();

  FreeAddresses(long start, long lengthBytes) {
    this.lengthBytes = lengthBytes;
    pieces.put(start, lengthBytes);
  }

  /**
   * Takes addresses; empty if there are not so many in one piece.
   *
   * @param alignmentBytes a power of two
   */
  OptionalLong take(long wantedBytes, long alignmentBytes) {
    for (Map.Entry<Long, Long> piece : pieces.entrySet()) {
      long address = (piece.getKey() + alignmentBytes - 1) & -alignmentBytes;
      long skipped = address - piece.getKey();
      if (skipped <= piece.getValue() && wantedBytes <= piece.getValue() - skipped) {
        boolean ignored = takeAt(address, wantedBytes);
        return OptionalLong.of(address);
      }
    }
    return OptionalLong.empty();
  }

  /** Takes these addresses; false if some of them are not free. */
  boolean takeAt(long address, long wantedBytes) {
    Map.Entry<Long, Long> piece = pieces.floorEntry(address);
    if (piece == null) {
      return false;
    }
    long before = address - piece.getKey();
    if (before > piece.getValue() || wantedBytes > piece.getValue() - before) {
      return false;
    }
    pieces.remove(piece.getKey());
    add(piece.getKey(), before);
    add(address + wantedBytes, piece.getValue() - before - wantedBytes);
    return true;
  }

  /** Gives back addresses that were taken. */
  void give(long address, long givenBytes) {
    long start = address;
    long end = address + givenBytes;
    Map.Entry<Long, Long> before = pieces.lowerEntry(address);
    if (before != null && before.getKey() + before.getValue() == start) {
      start = before.getKey();
    }
    Long behind = pieces.remove(end);
    if (behind != null) {
      end += behind;
    }
    pieces.put(start, end - start);
  }

  /** Returns whether nothing is taken. */
  boolean isWhole() {
    return pieces.size() == 1 && pieces.firstEntry().getValue() == lengthBytes;
  }

  private void add(long address, long freeBytes) {
    if (freeBytes > 0) {
      pieces.put(address, freeBytes);
    }
  }
}
