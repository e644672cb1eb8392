// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.memory;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import java.util.Optional;

/**
 * A place in the address space of a process for the memory of a device.
 *
 * @param base its first address
 * @param spaceBytes the addresses that it has
 * @param attempts how many places to try, each {@link #PLACES} behind the one before
 */
public record AddressPlace(long base, long spaceBytes, int attempts) {
  /** The most memory that a device can have, and the distance between two devices' places. */
  static final long MAX_BYTES = 1L << 40;

  /** Where the first device's memory starts: a place no allocator of the host hands out. */
  private static final long FIRST_BASE = 0x2000_0000_0000L;

  /** Where the first slot's memory starts, and how much of the addresses a slot has. */
  private static final long SLOT_BYTES = 2L << 40;

  private static final int PLACES = 32;

  /** The place of a number from 0, or a later one if that is taken. */
  public static AddressPlace numbered(int place) {
    return new AddressPlace(FIRST_BASE + place * MAX_BYTES, MAX_BYTES, PLACES);
  }

  /**
   * A part of one of fifteen slots, which lie below all numbered places.
   *
   * @param slot from 1
   * @param place of the device among the {@code count} that the slot has room for
   */
  public static AddressPlace inSlot(int slot, int place, int count) {
    long spaceBytes = SLOT_BYTES / count / CommittedPages.STEP_BYTES * CommittedPages.STEP_BYTES;
    return new AddressPlace(slot * SLOT_BYTES + place * spaceBytes, spaceBytes, 1);
  }

  /**
   * Checks that there are addresses for so much memory.
   *
   * @throws GpuException OUT_OF_MEMORY
   */
  void requireRoom(long totalBytes) {
    if (totalBytes > spaceBytes) {
      throw new GpuException(
          CudaStatus.OUT_OF_MEMORY,
          totalBytes + " bytes of device memory do not fit in " + spaceBytes + " of addresses");
    }
  }

  /**
   * Reserves addresses.
   *
   * @throws GpuException OUT_OF_MEMORY if they are taken
   */
  Mapping reserve(long regionBytes) {
    for (int attempt = 0; attempt < attempts; attempt++) {
      Optional<Mapping> mapping =
          Mapping.reserve(base + (long) attempt * PLACES * MAX_BYTES, regionBytes);
      if (mapping.isPresent()) {
        return mapping.get();
      }
    }
    throw new GpuException(
        CudaStatus.OUT_OF_MEMORY,
        "cannot reserve "
            + regionBytes
            + " bytes of addresses from 0x"
            + Long.toHexString(base)
            + "; is the address space of this process limited (ulimit -v)?");
  }
}
