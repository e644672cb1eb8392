// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.nvidia.memory;

import io.gpupool.cuda.CudaResult;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Device memory at addresses of a range, in blocks of 2 MiB as a driver gives it out: large
 * allocations have blocks of their own, small ones share. Guarded by its user.
 */
final class PlacedMemory {
  static final long BLOCK_BYTES = 2 << 20;

  private static final long SMALL_BYTES = 1 << 20;
  private static final long STEP_BYTES = 512;

  private final BlockMapper mapper;
  private final FreeAddresses addresses;
  private final TreeMap<Long, Chunk> chunks = new TreeMap<>();

  /** The chunks for small allocations, among those. */
  private final TreeMap<Long, Chunk> shared = new TreeMap<>();

  private final Map<Long, Allocation> allocations = new HashMap<>();

  /** The blocks that are mapped for what will be allocated. */
  private final TreeSet<Long> staged = new TreeSet<>();

  PlacedMemory(BlockMapper mapper, long start, long lengthBytes) {
    this.mapper = mapper;
    addresses = new FreeAddresses(start, lengthBytes);
  }

  /**
   * The outcome of an allocation.
   *
   * @param result a CUresult
   * @param address if that is 0
   */
  record Outcome(int result, long address) {}

  /**
   * An allocation.
   *
   * @param owner the context that it ends with
   */
  record Allocation(long lengthBytes, long owner) {
    boolean isSmall() {
      return lengthBytes <= SMALL_BYTES;
    }

    /** The bytes that it takes of a chunk. */
    long takenBytes() {
      return whole(lengthBytes, isSmall() ? STEP_BYTES : BLOCK_BYTES);
    }
  }

  /** Blocks one behind the other: of one large allocation, or one block of small ones. */
  private static final class Chunk {
    final long address;
    final long lengthBytes;

    /** The lengths of its mappings, by address. */
    final TreeMap<Long, Long> mapped = new TreeMap<>();

    /** The free addresses of one for small allocations. */
    final @Nullable FreeAddresses free;

    Chunk(long address, long lengthBytes, boolean isShared) {
      this.address = address;
      this.lengthBytes = lengthBytes;
      free = isShared ? new FreeAddresses(address, lengthBytes) : null;
    }
  }

  private static long whole(long lengthBytes, long unitBytes) {
    return (lengthBytes + unitBytes - 1) / unitBytes * unitBytes;
  }

  /** Allocates memory, wherever it fits. */
  Outcome allocate(long lengthBytes, long owner) {
    Allocation wanted = new Allocation(lengthBytes, owner);
    if (wanted.isSmall()) {
      for (Chunk chunk : shared.values()) {
        OptionalLong piece =
            chunk.free == null
                ? OptionalLong.empty()
                : chunk.free.take(wanted.takenBytes(), STEP_BYTES);
        if (piece.isPresent()) {
          return add(piece.getAsLong(), wanted);
        }
      }
    }
    if (lengthBytes > Long.MAX_VALUE - BLOCK_BYTES) {
      return new Outcome(CudaResult.OUT_OF_MEMORY, 0);
    }
    OptionalLong place = addresses.take(whole(lengthBytes, BLOCK_BYTES), BLOCK_BYTES);
    return place.isPresent()
        ? allocateIn(place.getAsLong(), place.getAsLong(), wanted)
        : new Outcome(CudaResult.OUT_OF_MEMORY, 0);
  }

  /** Allocates memory at an address that an allocation of this length has had. */
  Outcome allocateAt(long address, long lengthBytes, long owner) {
    Allocation wanted = new Allocation(lengthBytes, owner);
    long start = address / BLOCK_BYTES * BLOCK_BYTES;
    Chunk there = wanted.isSmall() ? shared.get(start) : null;
    if (there != null) {
      return there.free != null && there.free.takeAt(address, wanted.takenBytes())
          ? add(address, wanted)
          : new Outcome(CudaResult.OUT_OF_MEMORY, 0);
    }
    boolean fits =
        lengthBytes <= Long.MAX_VALUE - BLOCK_BYTES
            && (wanted.isSmall() || start == address)
            && addresses.takeAt(start, whole(lengthBytes, BLOCK_BYTES));
    return fits ? allocateIn(start, address, wanted) : new Outcome(CudaResult.OUT_OF_MEMORY, 0);
  }

  /** Makes the chunk for an allocation, at addresses that were taken. */
  private Outcome allocateIn(long start, long address, Allocation wanted) {
    Chunk chunk = new Chunk(start, whole(wanted.lengthBytes, BLOCK_BYTES), wanted.isSmall());
    int result = map(chunk);
    if (result == 0 && chunk.free != null && !chunk.free.takeAt(address, wanted.takenBytes())) {
      result = CudaResult.OUT_OF_MEMORY;
    }
    if (result != 0) {
      end(chunk);
      return new Outcome(result, 0);
    }
    chunks.put(start, chunk);
    if (wanted.isSmall()) {
      shared.put(start, chunk);
    }
    return add(address, wanted);
  }

  private Outcome add(long address, Allocation made) {
    allocations.put(address, made);
    return new Outcome(0, address);
  }

  /** Maps a chunk, apart from what is mapped there already. */
  private int map(Chunk chunk) {
    long end = chunk.address + chunk.lengthBytes;
    for (long at = chunk.address; at < end; ) {
      Long next = staged.ceiling(at);
      if (next != null && next == at) {
        staged.remove(at);
        chunk.mapped.put(at, BLOCK_BYTES);
        at += BLOCK_BYTES;
        continue;
      }
      long lengthBytes = (next == null || next > end ? end : next) - at;
      int result = mapper.map(at, lengthBytes);
      if (result != 0) {
        return result;
      }
      chunk.mapped.put(at, lengthBytes);
      at += lengthBytes;
    }
    return 0;
  }

  private void end(Chunk chunk) {
    chunk.mapped.forEach(mapper::unmap);
    addresses.give(chunk.address, chunk.lengthBytes);
  }

  /** Returns the allocation that begins at an address; null if there is none. */
  @Nullable Allocation find(long address) {
    return allocations.get(address);
  }

  /** Frees an allocation that there is. */
  void free(long address) {
    Allocation gone = allocations.remove(address);
    Map.Entry<Long, Chunk> entry = chunks.floorEntry(address);
    if (gone == null || entry == null) {
      return;
    }
    Chunk chunk = entry.getValue();
    if (chunk.free != null) {
      chunk.free.give(address, gone.takenBytes());
    }
    if (chunk.free == null || chunk.free.isWhole()) {
      chunks.remove(chunk.address);
      shared.remove(chunk.address);
      end(chunk);
    }
  }

  /** Frees what ends with a context. */
  void freeOwned(long owner) {
    List<Long> gone = new ArrayList<>();
    allocations.forEach((address, allocation) -> {
      if (allocation.owner == owner) {
        gone.add(address);
      }
    });
    gone.forEach(this::free);
  }

  /** Returns where there is memory of allocations. */
  List<Extent> extents() {
    return chunks.values().stream()
        .map(chunk -> new Extent(chunk.address, chunk.lengthBytes))
        .toList();
  }

  /** Maps the blocks of some addresses that have no memory yet; returns a CUresult. */
  int stage(long address, long lengthBytes) {
    long last = (address + lengthBytes - 1) / BLOCK_BYTES * BLOCK_BYTES;
    for (long block = address / BLOCK_BYTES * BLOCK_BYTES; block <= last; block += BLOCK_BYTES) {
      int result = staged.contains(block) ? 0 : mapper.map(block, BLOCK_BYTES);
      if (result != 0) {
        return result;
      }
      staged.add(block);
    }
    return 0;
  }

  /** The bytes that are staged, and not allocated. */
  long stagedBytes() {
    return staged.size() * BLOCK_BYTES;
  }

  /** Ends what is staged, and was not allocated. */
  void endStaged() {
    staged.forEach(block -> mapper.unmap(block, BLOCK_BYTES));
    staged.clear();
  }
}
