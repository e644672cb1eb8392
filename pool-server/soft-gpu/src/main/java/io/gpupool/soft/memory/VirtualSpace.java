// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.memory;

import static java.util.Objects.requireNonNull;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;

/**
 * The addresses of a device that the program reserves and maps blocks at, with the rules of {@code
 * cuMemAddressReserve}, {@code cuMemMap} and {@code cuMemSetAccess}. Any thread may call it.
 *
 * <p>What is not mapped stays backed by private pages once it was: a kernel that races with an
 * unmapping must not end this process.
 */
public final class VirtualSpace {
  /** What sizes and addresses are multiples of, as on cards. */
  public static final long GRANULE_BYTES = 2L << 20;

  /** CUmemAccess_flags. */
  public static final int NO_ACCESS = 0;

  public static final int READ = 1;
  public static final int READ_WRITE = 3;

  private final Mapping mapping;
  private final MemoryMap map;
  private final int ordinal;
  private final long start;
  private final long sizeBytes;
  private final Heap addresses;

  /** By address; a reservation may start behind where its place in the heap does. */
  private final TreeMap<Long, Reservation> reservations = new TreeMap<>();

  private final TreeMap<Long, Mapped> mapped = new TreeMap<>();

  /** What other processes' memory is shown at, and the reservation that is for. */
  private final Map<Long, Long> attached = new HashMap<>();

  private record Reservation(long sizeBytes, long place) {}

  /** A block where it is mapped, and the access of devices by ordinal. */
  private static final class Mapped {
    final PhysicalBlock block;
    final long sizeBytes;
    final int[] access;

    Mapped(PhysicalBlock block, long sizeBytes, int devices) {
      this.block = block;
      this.sizeBytes = sizeBytes;
      access = new int[devices];
    }
  }

  /** Devices that access is kept for. */
  private static final int MAX_DEVICES = 64;

  /**
   * Manages a part of a device's addresses.
   *
   * @param ordinal the device whose kernels see them in {@code map}
   */
  VirtualSpace(Mapping mapping, MemoryMap map, int ordinal, long start, long sizeBytes) {
    this.mapping = mapping;
    this.map = map;
    this.ordinal = ordinal;
    this.start = start;
    this.sizeBytes = sizeBytes;
    addresses = new Heap(start, Math.max(sizeBytes, GRANULE_BYTES), GRANULE_BYTES);
  }

  /** Whether an address is one of those that can be reserved. */
  public boolean covers(long address) {
    long offset = address - start;
    return offset >= 0 && offset < sizeBytes;
  }

  /**
   * Reserves addresses.
   *
   * @param alignmentBytes a power of two, or 0 for {@link #GRANULE_BYTES}
   * @throws GpuException INVALID_VALUE, OUT_OF_MEMORY
   */
  public synchronized long reserve(long bytes, long alignmentBytes) {
    requireGranules(bytes);
    long alignment = Math.max(alignmentBytes, GRANULE_BYTES);
    if (bytes == 0 || alignmentBytes < 0 || Long.bitCount(alignmentBytes) > 1) {
      throw invalid(bytes + " bytes aligned to " + alignmentBytes);
    }
    if (bytes > sizeBytes || alignment > sizeBytes) {
      throw new GpuException(CudaStatus.OUT_OF_MEMORY, "no " + bytes + " bytes of addresses");
    }
    OptionalLong place = addresses.allocate(bytes + alignment - GRANULE_BYTES, this);
    if (place.isEmpty()) {
      throw new GpuException(
          CudaStatus.OUT_OF_MEMORY, "no " + bytes + " bytes of addresses are left");
    }
    long address = (place.getAsLong() + alignment - 1) & -alignment;
    reservations.put(address, new Reservation(bytes, place.getAsLong()));
    return address;
  }

  /**
   * Reserves addresses of the caller's choice.
   *
   * @throws GpuException INVALID_VALUE if they are not free, or no such addresses
   */
  public synchronized void reserveAt(long address, long bytes) {
    requireGranules(bytes);
    if (!addresses.allocateAt(address, bytes, this)) {
      throw invalid(bytes + " bytes of addresses at 0x" + Long.toHexString(address));
    }
    reservations.put(address, new Reservation(bytes, address));
  }

  /** Where blocks are mapped, with the lengths. */
  public synchronized Map<Long, Long> mappings() {
    Map<Long, Long> lengths = new TreeMap<>();
    mapped.forEach((address, block) -> lengths.put(address, block.sizeBytes));
    return lengths;
  }

  /** Gives a whole reservation back, in which nothing is mapped. */
  public synchronized void free(long address, long bytes) {
    Reservation reservation = reservations.get(address);
    if (reservation == null || reservation.sizeBytes != bytes || isMapped(address, bytes)) {
      throw invalid("0x" + Long.toHexString(address) + " + " + bytes + " is no free reservation");
    }
    reservations.remove(address);
    addresses.free(reservation.place);
  }

  /** Maps a part of a block; no device has access yet. */
  public synchronized void map(long address, long bytes, long offset, PhysicalBlock block) {
    requireGranules(address | bytes | offset);
    Map.Entry<Long, Reservation> around = reservations.floorEntry(address);
    boolean reserved =
        around != null && address - around.getKey() <= around.getValue().sizeBytes - bytes;
    boolean inside = offset >= 0 && bytes > 0 && offset <= block.sizeBytes() - bytes;
    if (!reserved || !inside || isMapped(address, bytes)) {
      throw invalid("cannot map " + bytes + " bytes at 0x" + Long.toHexString(address));
    }
    if (!mapping.share(address, bytes, block.descriptor(), block.offset() + offset)) {
      throw new GpuException(CudaStatus.OUT_OF_MEMORY, "the system maps no more");
    }
    block.retain();
    mapped.put(address, new Mapped(block, bytes, MAX_DEVICES));
  }

  /** Takes whole mappings away. */
  public synchronized void unmap(long address, long bytes) {
    Map<Long, Mapped> whole = whole(address, bytes);
    map.markDead(address, bytes);
    mapping.unshare(address, bytes);
    whole.values().forEach(gone -> gone.block.release());
    whole.clear();
  }

  /**
   * Shows a block whole, at addresses of its own, to all devices; it may be any pages.
   *
   * @param inner where in it that begins which kernels may touch
   * @return the address of that
   */
  synchronized long attach(PhysicalBlock block, long inner, long lengthBytes) {
    long reserved = (block.sizeBytes() + GRANULE_BYTES - 1) & -GRANULE_BYTES;
    long address = reserve(reserved, 0);
    if (!mapping.share(address, block.sizeBytes(), block.descriptor(), block.offset())) {
      free(address, reserved);
      throw new GpuException(CudaStatus.OUT_OF_MEMORY, "the system maps no more");
    }
    block.retain();
    Mapped all = new Mapped(block, block.sizeBytes(), MAX_DEVICES);
    Arrays.fill(all.access, READ_WRITE);
    mapped.put(address, all);
    map.markLive(address + inner, lengthBytes);
    attached.put(address + inner, address);
    return address + inner;
  }

  synchronized boolean isAttached(long shown) {
    return attached.containsKey(shown);
  }

  /** Ends what {@link #attach} began. */
  synchronized void detach(long shown) {
    Long address = attached.remove(shown);
    if (address == null) {
      throw invalid("nothing is shown at 0x" + Long.toHexString(shown));
    }
    unmap(address, requireNonNull(mapped.get(address)).sizeBytes);
    free(address, requireNonNull(reservations.get(address)).sizeBytes);
  }

  /** Says what a device may do with whole mappings. Reading alone is not told from writing. */
  public synchronized void setAccess(long address, long bytes, int device, int flags) {
    if (flags != NO_ACCESS && flags != READ && flags != READ_WRITE) {
      throw invalid("access " + flags);
    }
    for (Mapped target : whole(address, bytes).values()) {
      target.access[device] = flags;
    }
    if (device == ordinal) {
      if (flags == NO_ACCESS) {
        map.markDead(address, bytes);
      } else {
        map.markLive(address, bytes);
      }
    }
  }

  /** CUmemAccess_flags of a device; INVALID_VALUE where nothing is mapped. */
  public synchronized int access(long address, int device) {
    return around(address).access[device];
  }

  /** The block that is mapped at an address. */
  public synchronized PhysicalBlock block(long address) {
    return around(address).block;
  }

  /** Whether a device may touch all of a range. */
  public synchronized boolean allows(long address, long bytes, int device) {
    long at = address;
    while (at - address < bytes) {
      Map.Entry<Long, Mapped> entry = mapped.floorEntry(at);
      if (entry == null
          || at - entry.getKey() >= entry.getValue().sizeBytes
          || entry.getValue().access[device] == NO_ACCESS) {
        return false;
      }
      at = entry.getKey() + entry.getValue().sizeBytes;
    }
    return true;
  }

  /** Whether some device may touch all of a range, so that copies can. */
  synchronized boolean isReachable(long address, long bytes) {
    for (int device = 0; device < MAX_DEVICES; device++) {
      if (allows(address, bytes, device)) {
        return true;
      }
    }
    return false;
  }

  private Mapped around(long address) {
    Map.Entry<Long, Mapped> entry = mapped.floorEntry(address);
    if (entry == null || address - entry.getKey() >= entry.getValue().sizeBytes) {
      throw invalid("nothing is mapped at 0x" + Long.toHexString(address));
    }
    return entry.getValue();
  }

  /** The mappings that make up a range, one after the other without a gap. */
  private Map<Long, Mapped> whole(long address, long bytes) {
    long at = address;
    Mapped next = bytes > 0 ? mapped.get(at) : null;
    while (next != null && at - address < bytes) {
      at += next.sizeBytes;
      next = at - address < bytes ? mapped.get(at) : null;
    }
    if (bytes <= 0 || at - address != bytes) {
      throw invalid(
          "0x" + Long.toHexString(address) + " + " + bytes + " is not made of whole mappings");
    }
    return mapped.subMap(address, address + bytes);
  }

  private boolean isMapped(long address, long bytes) {
    Map.Entry<Long, Mapped> last = mapped.lowerEntry(address + bytes);
    return last != null && last.getKey() + last.getValue().sizeBytes > address;
  }

  private static void requireGranules(long values) {
    if (values < 0 || values % GRANULE_BYTES != 0) {
      throw invalid("addresses and sizes must be multiples of " + GRANULE_BYTES);
    }
  }

  private static GpuException invalid(String message) {
    return new GpuException(CudaStatus.INVALID_VALUE, message);
  }
}
