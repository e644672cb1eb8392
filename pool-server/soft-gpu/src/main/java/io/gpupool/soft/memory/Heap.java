// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.memory;

import static java.util.Objects.requireNonNull;

import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * An allocator of an address range: best fit, neighbours joined on free, every step O(log n).
 * Touches no memory. Not thread-safe; {@link DeviceMemory} guards it.
 */
final class Heap {
  private static final Comparator<Block> BY_SIZE =
      Comparator.<Block>comparingLong(block -> block.size).thenComparingLong(block -> block.start);

  private final long granule;
  private final TreeSet<Block> free = new TreeSet<>(BY_SIZE);
  private final TreeMap<Long, Block> used = new TreeMap<>();
  private long usedBytes;
  private long nextId = 1;

  /**
   * @param granule power of two that all addresses and occupied sizes are multiples of
   */
  Heap(long start, long size, long granule) {
    this.granule = granule;
    if (size > 0) {
      free.add(new Block(start, size));
    }
  }

  /** Places {@code bytes} bytes; empty if no free block is large enough. */
  OptionalLong allocate(long bytes, Object owner) {
    if (bytes <= 0 || bytes > Long.MAX_VALUE - granule) {
      return OptionalLong.empty();
    }
    long size = (bytes + granule - 1) & -granule;
    Block block = free.ceiling(new Block(Long.MIN_VALUE, size));
    if (block == null) {
      return OptionalLong.empty();
    }
    free.remove(block);
    if (block.size > size) {
      Block rest = new Block(block.start + size, block.size - size);
      rest.linkAfter(block);
      block.size = size;
      free.add(rest);
    }
    block.allocation = new Allocation(block.start, bytes, nextId++, owner);
    used.put(block.start, block);
    usedBytes += size;
    return OptionalLong.of(block.start);
  }

  /**
   * Ends an allocation.
   *
   * @return the bytes it occupied; 0 if none starts at {@code start}
   */
  long free(long start) {
    Block block = used.remove(start);
    if (block == null) {
      return 0;
    }
    long size = block.size;
    usedBytes -= size;
    block.allocation = null;
    block.retired = false;
    if (block.next != null && block.next.allocation == null) {
      free.remove(block.next);
      block.absorbNext();
    }
    if (block.previous != null && block.previous.allocation == null) {
      block = block.previous;
      free.remove(block);
      block.absorbNext();
    }
    free.add(block);
    return size;
  }

  /** Takes an allocation out of {@link #find}'s sight until it is freed; false if there is none. */
  boolean retire(long start) {
    Block block = used.get(start);
    if (block == null || block.retired) {
      return false;
    }
    block.retired = true;
    return true;
  }

  /** The allocation that {@code address} lies in, unless it is retired. */
  Optional<Allocation> find(long address) {
    Map.Entry<Long, Block> entry = used.floorEntry(address);
    if (entry == null
        || entry.getValue().retired
        || !(entry.getValue().allocation instanceof Allocation allocation)
        || !allocation.contains(address, 1)) {
      return Optional.empty();
    }
    return Optional.of(allocation);
  }

  /** The allocations next to an address, below and above it, retired or not. */
  List<Allocation> around(long address) {
    return Stream.of(used.floorEntry(address), used.higherEntry(address))
        .filter(Objects::nonNull)
        .map(entry -> requireNonNull(entry.getValue().allocation))
        .toList();
  }

  /** The allocations of an owner that are not retired. */
  List<Allocation> allocationsOf(Object owner) {
    return used.values().stream()
        .filter(block -> !block.retired)
        .map(block -> requireNonNull(block.allocation))
        .filter(allocation -> allocation.owner() == owner)
        .toList();
  }

  /** What all allocations occupy, rounding included. */
  long usedBytes() {
    return usedBytes;
  }

  /** Largest allocation that would succeed. */
  long largestFreeBytes() {
    return free.isEmpty() ? 0 : free.last().size;
  }

  /** A run of addresses, free or one allocation; linked to its neighbours in address order. */
  private static final class Block {
    final long start;
    long size;
    @Nullable Block previous;
    @Nullable Block next;
    @Nullable Allocation allocation;
    boolean retired;

    Block(long start, long size) {
      this.start = start;
      this.size = size;
    }

    void linkAfter(Block block) {
      previous = block;
      next = block.next;
      if (next != null) {
        next.previous = this;
      }
      block.next = this;
    }

    void absorbNext() {
      Block absorbed = requireNonNull(next);
      size += absorbed.size;
      next = absorbed.next;
      if (next != null) {
        next.previous = this;
      }
    }
  }
}
