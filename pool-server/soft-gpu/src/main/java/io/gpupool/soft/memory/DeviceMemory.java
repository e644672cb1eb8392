// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.memory;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * The memory of one device: a reserved range of addresses, the allocations in it, and which of its
 * granules kernels may touch. A device address is the native address of the same byte. Any thread
 * may call it.
 */
public final class DeviceMemory implements AutoCloseable {
  /** Alignment of every allocation. */
  public static final int ALIGNMENT_BYTES = MemoryMap.GRANULE_BYTES;

  private static final long MAX_FREED_RESIDENT_BYTES = 16L << 20;

  /** Programs reserve far more addresses than they map. */
  private static final long MIN_VIRTUAL_BYTES = 64L << 30;

  private static final int VIRTUAL_MULTIPLE = 16;

  /** The most that {@link #freeRange} has of the addresses that {@link #allocate} leaves. */
  private static final int SMALL_PART = 4;

  private final Object lock = new Object();
  private final long totalBytes;
  private final Mapping mapping;
  private final MemorySegment segment;
  private final CommittedPages committed;
  private final MemoryMap map;
  private final Heap heap;

  /** Addresses where {@link #allocate} places nothing, for {@link #freeRange}. */
  private final Heap small;

  private final PhysicalStore physical;
  private final VirtualSpace virtual;
  private final RangeSet freedResident = new RangeSet();
  private final SharedPages shared;

  private final FreedMemory freed = new FreedMemory();
  private long physicalBytes;
  private boolean closed;

  /**
   * Reserves the addresses of a device, in the place of its number.
   *
   * @param totalBytes how much can be allocated
   */
  public DeviceMemory(int ordinal, long totalBytes) {
    this(ordinal, totalBytes, AddressPlace.numbered(ordinal));
  }

  /**
   * Reserves the addresses of a device.
   *
   * @param totalBytes how much can be allocated
   * @throws GpuException OUT_OF_MEMORY if the place is taken, or too small
   */
  public DeviceMemory(int ordinal, long totalBytes, AddressPlace place) {
    if (totalBytes <= 0 || totalBytes > AddressPlace.MAX_BYTES) {
      throw new IllegalArgumentException("device memory must be 1 byte to 1 TiB: " + totalBytes);
    }
    place.requireRoom(totalBytes);
    long spaceBytes = place.spaceBytes();
    this.totalBytes = totalBytes;
    // Twice the memory in addresses, so that fragmentation does not refuse what would fit.
    long heapBytes =
        Math.min(
            spaceBytes,
            roundUp(totalBytes * 2 + CommittedPages.STEP_BYTES, CommittedPages.STEP_BYTES));
    long smallBytes =
        Math.min(
            (spaceBytes - heapBytes) / SMALL_PART & -CommittedPages.STEP_BYTES,
            roundUp(totalBytes, CommittedPages.STEP_BYTES));
    long virtualBytes =
        Math.min(
            spaceBytes - heapBytes - smallBytes,
            Math.max(
                MIN_VIRTUAL_BYTES,
                roundUp(totalBytes, CommittedPages.STEP_BYTES) * VIRTUAL_MULTIPLE));
    long regionBytes = heapBytes + smallBytes + virtualBytes;
    mapping = place.reserve(regionBytes);
    segment = mapping.segment();
    map = new MemoryMap(mapping.address(), regionBytes);
    heap = new Heap(mapping.address(), heapBytes, ALIGNMENT_BYTES);
    small = new Heap(mapping.address() + heapBytes, smallBytes, ALIGNMENT_BYTES);
    long virtualAddress = mapping.address() + heapBytes + smallBytes;
    virtual = new VirtualSpace(mapping, map, ordinal, virtualAddress, virtualBytes);
    physical = new PhysicalStore(new PhysicalBudget(), heapBytes);
    shared = new SharedPages(mapping);
    committed = new CommittedPages(mapping);
  }

  /**
   * Allocates.
   *
   * @param owner to be found again by {@link #allocationsOf}
   * @return the address, a multiple of {@link #ALIGNMENT_BYTES}
   * @throws GpuException INVALID_VALUE for 0 or fewer bytes, OUT_OF_MEMORY
   */
  public long allocate(long bytes, Object owner) {
    requireSound(bytes);
    synchronized (lock) {
      requireOpen();
      requireRoom(bytes);
      OptionalLong place = heap.allocate(bytes, owner);
      if (place.isEmpty()) {
        throw outOfMemory(bytes);
      }
      begin(place.getAsLong(), bytes);
      return place.getAsLong();
    }
  }

  /**
   * Allocates at an address of the caller's choice.
   *
   * @param address a multiple of {@link #ALIGNMENT_BYTES}, among those that {@link #allocate} or
   *     {@link #freeRange} gives
   * @throws GpuException INVALID_VALUE for 0 or fewer bytes, or if the address is no such or not
   *     all of the bytes are free, OUT_OF_MEMORY
   */
  public void allocateAt(long address, long bytes, Object owner) {
    requireSound(bytes);
    synchronized (lock) {
      requireOpen();
      requireRoom(bytes);
      if (!heapOf(address).allocateAt(address, bytes, owner)) {
        throw new GpuException(
            CudaStatus.INVALID_VALUE,
            "no " + bytes + " free bytes at 0x" + Long.toHexString(address));
      }
      begin(address, bytes);
    }
  }

  /**
   * Finds free addresses for {@link #allocateAt}, which alone takes them. They can be used without
   * the system being asked for more.
   *
   * @return no more than {@code wantedBytes}, as much as is free in one piece otherwise; empty if
   *     there is nothing
   */
  public Optional<AddressRange> freeRange(long wantedBytes) {
    synchronized (lock) {
      requireOpen();
      return small
          .freeRange(wantedBytes)
          .filter(
              range -> committed.commit(range.address(), range.address() + range.lengthBytes()));
    }
  }

  private Heap heapOf(long address) {
    return small.covers(address) ? small : heap;
  }

  private static void requireSound(long bytes) {
    if (bytes <= 0) {
      throw new GpuException(CudaStatus.INVALID_VALUE, "cannot allocate " + bytes + " bytes");
    }
  }

  private void requireRoom(long bytes) {
    if (bytes > totalBytes || roundUp(bytes, ALIGNMENT_BYTES) > freeBytes()) {
      throw outOfMemory(bytes);
    }
  }

  /** Lets an allocation be used that the heap has placed. */
  private void begin(long address, long bytes) {
    long end = address + roundUp(bytes, ALIGNMENT_BYTES);
    if (!committed.commit(address, end)) {
      heapOf(address).free(address);
      throw outOfMemory(bytes);
    }
    freedResident.remove(address, end);
    map.markLive(address, bytes);
  }

  /**
   * First half of a free that must wait for running work: from now on the allocation can neither be
   * found nor freed again by the program, but kernels in flight may still touch it.
   *
   * @throws GpuException INVALID_VALUE if no allocation starts at {@code address}
   */
  public void retire(long address) {
    synchronized (lock) {
      requireOpen();
      if (!heapOf(address).retire(address)) {
        throw noAllocation(address);
      }
    }
  }

  /**
   * Frees what {@link #allocate} gave.
   *
   * @throws GpuException INVALID_VALUE if no allocation starts at {@code address}
   */
  public void free(long address) {
    synchronized (lock) {
      requireOpen();
      long size = heapOf(address).free(address);
      if (size == 0) {
        throw noAllocation(address);
      }
      map.markDead(address, size);
      shared.freed(address, size);
      freedResident.add(address, address + size);
      freed.add(address, size);
      if (freedResident.totalBytes() > MAX_FREED_RESIDENT_BYTES) {
        freedResident.drain(this::discard);
      }
    }
  }

  /** The allocation that an address lies in. */
  public Optional<Allocation> find(long address) {
    synchronized (lock) {
      return heapOf(address).find(address);
    }
  }

  /** Says where an address lies: in which allocation, in one that was freed, or beside which. */
  public String describe(long address) {
    synchronized (lock) {
      List<Allocation> around = new ArrayList<>(heap.around(address));
      around.addAll(small.around(address));
      return freed.describe(address, around);
    }
  }

  /** The live allocations made for an owner. */
  public List<Allocation> allocationsOf(Object owner) {
    synchronized (lock) {
      List<Allocation> all = new ArrayList<>(heap.allocationsOf(owner));
      all.addAll(small.allocationsOf(owner));
      return all;
    }
  }

  /** The live allocations, whatever their owner. */
  public List<Allocation> allocations() {
    synchronized (lock) {
      List<Allocation> all = new ArrayList<>(heap.allocations());
      all.addAll(small.allocations());
      return all;
    }
  }

  /**
   * Makes pages usable in which nothing is allocated yet, and which a later {@link #allocateAt}
   * leaves as they are.
   *
   * @throws GpuException INVALID_VALUE for addresses that are not the device's, OUT_OF_MEMORY
   */
  public void stage(long address, long lengthBytes) {
    synchronized (lock) {
      requireOpen();
      boolean inside = covers(address) && lengthBytes > 0 && covers(address + lengthBytes - 1);
      if (!inside || virtual.covers(address + lengthBytes - 1)) {
        throw noAllocation(address);
      }
      if (!committed.commit(address, address + lengthBytes)) {
        throw outOfMemory(lengthBytes);
      }
    }
  }

  /** The first of the device's addresses. */
  public long baseAddress() {
    return mapping.address();
  }

  /** Whether an address is one of this device's, allocated or not. */
  public boolean covers(long address) {
    long offset = address - mapping.address();
    return offset >= 0 && offset < mapping.sizeBytes();
  }

  /**
   * The bytes of a range for reading and writing. They stay mapped until {@link #close}, so a
   * racing free cannot hurt this process.
   *
   * @throws GpuException INVALID_VALUE unless the range lies in one allocation
   */
  public MemorySegment view(long address, long lengthBytes) {
    if (virtual.covers(address)) {
      return mapped(address, lengthBytes);
    }
    synchronized (lock) {
      requireOpen();
      Optional<Allocation> allocation = heapOf(address).find(address);
      if (allocation.isEmpty() || !allocation.get().contains(address, lengthBytes)) {
        throw new GpuException(
            CudaStatus.INVALID_VALUE,
            "0x"
                + Long.toHexString(address)
                + " + "
                + lengthBytes
                + " bytes is not within one allocation");
      }
    }
    return segment.asSlice(address - mapping.address(), lengthBytes);
  }

  /** The bytes of a range of mapped blocks. */
  private MemorySegment mapped(long address, long lengthBytes) {
    boolean sound = lengthBytes >= 0 && lengthBytes <= mapping.sizeBytes();
    if (!sound || !virtual.isReachable(address, lengthBytes)) {
      throw new GpuException(
          CudaStatus.INVALID_VALUE,
          "0x" + Long.toHexString(address) + " + " + lengthBytes + " bytes is not all mapped");
    }
    return segment.asSlice(address - mapping.address(), lengthBytes);
  }

  /** The addresses that the program maps blocks at. */
  public VirtualSpace virtual() {
    return virtual;
  }

  /**
   * Makes a block of memory without an address.
   *
   * @throws GpuException INVALID_VALUE, OUT_OF_MEMORY
   */
  public PhysicalBlock createBlock(long sizeBytes) {
    return physical.create(sizeBytes);
  }

  /** The same, for other processes to have, too. */
  public PhysicalBlock createShareableBlock(long sizeBytes) {
    return physical.createShareable(sizeBytes);
  }

  /**
   * Lets other processes have an allocation. No kernel or copy may run on the device meanwhile.
   *
   * @param address anywhere in it
   * @throws GpuException INVALID_VALUE if there is none, OUT_OF_MEMORY, NOT_SUPPORTED
   */
  public SharedPiece share(long address) {
    synchronized (lock) {
      requireOpen();
      return shared.share(heapOf(address).find(address).orElseThrow(() -> noAllocation(address)));
    }
  }

  /**
   * Shows memory of another process to all devices.
   *
   * @param piece the descriptor is one of this process, and stays the caller's
   * @return where the other process's allocation begins
   * @throws GpuException INVALID_VALUE, OUT_OF_MEMORY
   */
  public long attach(SharedPiece piece) {
    if (!piece.isSound()) {
      throw new GpuException(CudaStatus.INVALID_VALUE, "no piece of a file: " + piece);
    }
    PhysicalBlock block =
        PhysicalBlock.ofFile(
            SharedFile.duplicate(piece.descriptor()), piece.offset(), piece.mappedBytes());
    try {
      return virtual.attach(block, piece.innerBytes(), piece.lengthBytes());
    } finally {
      block.release();
    }
  }

  /** Whether {@link #attach} has given this address. */
  public boolean isAttached(long address) {
    return virtual.isAttached(address);
  }

  /** Ends what {@link #attach} began. */
  public void detach(long address) {
    virtual.detach(address);
  }

  /** What kernels may touch. */
  public MemoryMap map() {
    return map;
  }

  public long totalBytes() {
    return totalBytes;
  }

  /** What the allocations and blocks occupy. */
  public long usedBytes() {
    synchronized (lock) {
      return totalBytes - freeBytes();
    }
  }

  private long freeBytes() {
    return totalBytes - heap.usedBytes() - small.usedBytes() - physicalBytes;
  }

  /** Unmaps everything; no kernel or copy may run on it any more. */
  @Override
  public void close() {
    synchronized (lock) {
      if (!closed) {
        closed = true;
        map.close();
        mapping.unmap();
        shared.close();
        physical.close();
      }
    }
  }

  private void discard(long start, long end) {
    long from = roundUp(start, Mapping.PAGE_BYTES);
    long to = end & -Mapping.PAGE_BYTES;
    if (from < to) {
      mapping.discard(from, to - from);
    }
  }

  private GpuException outOfMemory(long bytes) {
    return new GpuException(
        CudaStatus.OUT_OF_MEMORY, bytes + " bytes asked for, " + freeBytes() + " bytes free");
  }

  private static GpuException noAllocation(long address) {
    return new GpuException(
        CudaStatus.INVALID_VALUE, "no allocation starts at 0x" + Long.toHexString(address));
  }

  private void requireOpen() {
    if (closed) {
      throw new GpuException(CudaStatus.DEINITIALIZED, "the device is closed");
    }
  }

  private static long roundUp(long value, long powerOfTwo) {
    return (value + powerOfTwo - 1) & -powerOfTwo;
  }

  /** Blocks and allocations share what the device has. */
  private final class PhysicalBudget implements PhysicalStore.Budget {
    @Override
    public boolean take(long bytes) {
      synchronized (lock) {
        if (closed || bytes > freeBytes()) {
          return false;
        }
        physicalBytes += bytes;
        return true;
      }
    }

    @Override
    public void giveBack(long bytes) {
      synchronized (lock) {
        physicalBytes -= bytes;
      }
    }
  }
}
