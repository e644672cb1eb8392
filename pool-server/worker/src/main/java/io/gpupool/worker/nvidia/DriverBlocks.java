// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.nvidia;

import io.gpupool.worker.nvidia.memory.BlockMapper;
import io.gpupool.worker.nvidia.memory.MovableMemory;
import io.gpupool.worker.os.Memory;
import java.lang.foreign.Arena;
import java.util.Optional;

/** Memory of a GPU that the driver makes without addresses, for addresses reserved before. */
final class DriverBlocks implements BlockMapper {
  /* CUmemAllocationProp: i32 type, i32 handle types, CUmemLocation, u64 metadata, flags. */
  private static final int PROP_BYTES = 32;
  private static final int PROP_LOCATION_TYPE = 8;
  private static final int PROP_LOCATION = 12;
  private static final int PINNED = 1;

  /* CUmemAccessDesc: CUmemLocation, i32 flags. */
  private static final int ACCESS_BYTES = 12;
  static final int ACCESS_DEVICE = 4;
  static final int ACCESS_FLAGS = 8;

  private static final int LOCATION_DEVICE = 1;
  private static final int MINIMUM_GRANULARITY = 0;

  private final NvidiaMovable driver;
  private final long prop = Arena.global().allocate(PROP_BYTES, Long.BYTES).address();
  private final long access = Arena.global().allocate(ACCESS_BYTES, Long.BYTES).address();
  private final long out = Arena.global().allocate(Long.BYTES, Long.BYTES).address();

  /**
   * Of a GPU.
   *
   * @param device its CUdevice
   */
  DriverBlocks(NvidiaMovable driver, int device) {
    this.driver = driver;
    Memory.putInt(prop, PINNED);
    Memory.putInt(prop + PROP_LOCATION_TYPE, LOCATION_DEVICE);
    Memory.putInt(prop + PROP_LOCATION, device);
    Memory.putInt(access, LOCATION_DEVICE);
    Memory.putInt(access + ACCESS_DEVICE, device);
    Memory.putInt(access + ACCESS_FLAGS, BlockMapper.READ_WRITE);
  }

  /** Reserves the addresses of movable memory; returns why there are none, if so. */
  Optional<String> reserve() {
    long granularity =
        driver.cuMemGetAllocationGranularity(out, prop, MINIMUM_GRANULARITY) == 0
            ? Memory.getLong(out)
            : 0;
    if (granularity <= 0 || MovableMemory.BLOCK_BYTES % granularity != 0) {
      return Optional.of("a GPU whose driver maps no blocks of 2 MiB");
    }
    int result =
        driver.cuMemAddressReserve(
            out, MovableMemory.SPACE_BYTES, MovableMemory.BLOCK_BYTES, MovableMemory.BASE, 0);
    if (result == 0 && Memory.getLong(out) == MovableMemory.BASE) {
      return Optional.empty();
    }
    if (result == 0) {
      int ignored = driver.cuMemAddressFree(Memory.getLong(out), MovableMemory.SPACE_BYTES);
    }
    return Optional.of("addresses that its driver has chosen in place of those wanted");
  }

  @Override
  public int map(long address, long lengthBytes) {
    int result = driver.cuMemCreate(out, lengthBytes, prop, 0);
    if (result != 0) {
      return result;
    }
    long handle = Memory.getLong(out);
    result = driver.mapBlock(address, lengthBytes, handle);
    if (result == 0) {
      result = driver.allowBlock(address, lengthBytes, access);
      if (result != 0) {
        unmap(address, lengthBytes);
      }
    }
    // What is mapped stays until it is unmapped.
    int ignored = driver.cuMemRelease(handle);
    return result;
  }

  @Override
  public void unmap(long address, long lengthBytes) {
    int ignored = driver.unmapBlock(address, lengthBytes);
  }
}
