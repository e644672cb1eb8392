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

  /** The lowest block: it stays the same one, for a block that grows keeps its beginning. */
  private final Block first;

  private final long start;
  private final long size;
  private long usedBytes;
  private long nextId = 1;

  /**
   * @param granule power of two that all addresses and occupied sizes are multiples of
   */
  Heap(long start, long size, long granule) {
    this.granule = granule;
    this.start = start;
    this.size = size;
    first = new Block(start, size);
    if (size > 0) {
      free.add(first);
    }
  }

  /** Whether an address is one of the range's. */
  boolean covers(long address) {
    return address - start >= 0 && address - start < size;
  }

  /** Places {@code bytes} bytes; empty if no free block is large enough. */
  OptionalLong allocate(long bytes, Object owner) {
    if (bytes <= 0 || bytes > Long.MAX_VALUE - granule) {
      return OptionalLong.empty();
    }
    Block block = free.ceiling(new Block(Long.MIN_VALUE, occupied(bytes)));
    if (block == null) {
      return OptionalLong.empty();
    }
    free.remove(block);
    use(block, bytes, owner);
    return OptionalLong.of(block.start);
  }

  /**
   * Places {@code bytes} bytes at an address; false if it is unaligned or not all of them are free.
   */
  boolean allocateAt(long address, long bytes, Object owner) {
    boolean sound = bytes > 0 && bytes <= size && (address & (granule - 1)) == 0;
    if (!sound || !covers(address)) {
      return false;
    }
    Map.Entry<Long, Block> below = used.floorEntry(address);
    Block block = below == null ? first : below.getValue().next;
    if (block == null
        || block.allocation != null
        || address < block.start
        || occupied(bytes) > block.size - (address - block.start)) {
      return false;
    }
    free.remove(block);
    if (address > block.start) {
      Block rest = block.splitAt(address);
      free.add(block);
      block = rest;
    }
    use(block, bytes, owner);
    return true;
  }

  /** Makes an allocation at the beginning of a block that is in no set any more. */
  private void use(Block block, long bytes, Object owner) {
    long occupied = occupied(bytes);
    if (block.size > occupied) {
      free.add(block.splitAt(block.start + occupied));
    }
    block.allocation = new Allocation(block.start, bytes, nextId++, owner);
    used.put(block.start, block);
    usedBytes += occupied;
  }

  private long occupied(long bytes) {
    return (bytes + granule - 1) & -granule;
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

  /** The allocations that are not retired, by address. */
  List<Allocation> allocations() {
    return used.values().stream()
        .filter(block -> !block.retired)
        .map(block -> requireNonNull(block.allocation))
        .toList();
  }

  /** What all allocations occupy, rounding included. */
  long usedBytes() {
    return usedBytes;
  }

  /**
   * A range of free addresses: the shortest one that holds {@code bytes}, and no more of it than
   * that, or the longest one there is; empty if there is none.
   */
  Optional<AddressRange> freeRange(long bytes) {
    if (free.isEmpty() || bytes <= 0 || bytes > Long.MAX_VALUE - granule) {
      return Optional.empty();
    }
    long wanted = occupied(bytes);
    Block block = free.ceiling(new Block(Long.MIN_VALUE, wanted));
    Block found = block == null ? free.last() : block;
    return Optional.of(new AddressRange(found.start, Math.min(wanted, found.size)));
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

    /** Keeps what lies below an address; returns the rest. */
    Block splitAt(long address) {
      Block rest = new Block(address, start + size - address);
      size = address - start;
      rest.previous = this;
      rest.next = next;
      if (next != null) {
        next.previous = rest;
      }
      next = rest;
      return rest;
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
