// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.memory;

import java.util.List;

/**
 * The memory that kernels' {@code malloc} takes pieces from: one range of device memory, whose
 * bookkeeping lies outside of it. Any thread may call it.
 */
public final class DeviceHeap {
  /** A heap without memory, which refuses whatever is asked for. */
  public static final DeviceHeap NONE = new DeviceHeap(0, 0);

  /** What {@code malloc} aligns to in device code. */
  private static final int ALIGNMENT_BYTES = 16;

  private final Heap heap;
  private final long address;
  private final long sizeBytes;

  /**
   * Lays a heap over device memory that is allocated already.
   *
   * @param address aligned as all allocations are
   */
  public DeviceHeap(long address, long sizeBytes) {
    this.address = address;
    this.sizeBytes = sizeBytes & -ALIGNMENT_BYTES;
    heap = new Heap(address, this.sizeBytes, ALIGNMENT_BYTES);
  }

  public long address() {
    return address;
  }

  public long sizeBytes() {
    return sizeBytes;
  }

  /** The address of a new piece; 0 if none is left that is large enough, or for no bytes. */
  public synchronized long allocate(long bytes) {
    return heap.allocate(bytes, this).orElse(0);
  }

  /** The pieces that were allocated and not given back. */
  public synchronized List<Allocation> pieces() {
    return heap.allocations();
  }

  /** Takes a piece at an address that is free; false if it is not. */
  public synchronized boolean allocateAt(long start, long bytes) {
    return heap.allocateAt(start, bytes, this);
  }

  /** Gives a piece back; false if none starts there. */
  public synchronized boolean free(long start) {
    return heap.free(start) > 0;
  }
}
