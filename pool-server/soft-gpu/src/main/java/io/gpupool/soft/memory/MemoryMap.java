// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.memory;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * A map of the allocated bytes of the device address region, in granules of {@value #GRANULE_BYTES}
 * bytes. Marking is for the allocator's thread; kernels read concurrently.
 *
 * <p>Device addresses are native addresses of this process. The map itself is one byte a granule,
 * in pages that the kernel provides on first touch, so a large region costs nothing until used.
 */
public final class MemoryMap implements AutoCloseable {
  public static final int GRANULE_SHIFT = 9;
  public static final int GRANULE_BYTES = 1 << GRANULE_SHIFT;

  private final long base;
  private final long sizeBytes;
  private final Pages pages;
  private final MemorySegment granules;
  private volatile Elsewhere elsewhere = (address, lengthBytes) -> false;

  /** Tells of memory that lies outside of a region. */
  @FunctionalInterface
  public interface Elsewhere {
    /** Whether kernels that see the region may touch all of a range outside of it. */
    boolean isLive(long address, int lengthBytes);
  }

  /**
   * Describes a region in which nothing is allocated yet.
   *
   * @param base lowest device address, a multiple of {@value #GRANULE_BYTES}
   * @param sizeBytes length of the region, a multiple of {@value #GRANULE_BYTES}
   */
  public MemoryMap(long base, long sizeBytes) {
    if (base < 0 || sizeBytes <= 0 || ((base | sizeBytes) & (GRANULE_BYTES - 1)) != 0) {
      throw new IllegalArgumentException(
          "region must be aligned to " + GRANULE_BYTES + ": " + base + " + " + sizeBytes);
    }
    this.base = base;
    this.sizeBytes = sizeBytes;
    pages = Pages.map(sizeBytes >>> GRANULE_SHIFT);
    granules = pages.segment();
  }

  /** Lowest device address. */
  public long base() {
    return base;
  }

  /** Length of the region. */
  public long sizeBytes() {
    return sizeBytes;
  }

  /** Native address of the granule bytes; a byte is 1 where its granule is allocated, else 0. */
  public long granulesAddress() {
    return pages.address();
  }

  /** Lets kernels touch the granules that {@code [address, address + lengthBytes)} meets. */
  public void markLive(long address, long lengthBytes) {
    mark(address, lengthBytes, (byte) 1);
  }

  /** Makes kernels that touch these granules fault. */
  public void markDead(long address, long lengthBytes) {
    mark(address, lengthBytes, (byte) 0);
  }

  /** Whether every byte of the range lies in live granules; false for a range outside. */
  public boolean isLive(long address, long lengthBytes) {
    long offset = address - base;
    if (lengthBytes < 0 || offset < 0 || offset > sizeBytes - lengthBytes) {
      return false;
    }
    if (lengthBytes == 0) {
      return true;
    }
    long last = (offset + lengthBytes - 1) >>> GRANULE_SHIFT;
    for (long granule = offset >>> GRANULE_SHIFT; granule <= last; granule++) {
      if (granules.get(ValueLayout.JAVA_BYTE, granule) == 0) {
        return false;
      }
    }
    return true;
  }

  /**
   * Lets kernels touch memory outside of the region, too: other devices'. It is slower to reach.
   */
  public void reach(Elsewhere other) {
    elsewhere = other;
  }

  /** Whether kernels may touch a range outside of the region. */
  public boolean isLiveElsewhere(long address, int lengthBytes) {
    return elsewhere.isLive(address, lengthBytes);
  }

  /** Gives the map's pages back; no kernel may run on it any more. */
  @Override
  public void close() {
    pages.close();
  }

  private void mark(long address, long lengthBytes, byte value) {
    long offset = address - base;
    if (lengthBytes < 0 || offset < 0 || offset > sizeBytes - lengthBytes) {
      throw new IllegalArgumentException(
          "range outside the device region: 0x" + Long.toHexString(address) + " + " + lengthBytes);
    }
    if (lengthBytes == 0) {
      return;
    }
    long first = offset >>> GRANULE_SHIFT;
    long last = (offset + lengthBytes - 1) >>> GRANULE_SHIFT;
    granules.asSlice(first, last - first + 1).fill(value);
  }
}
