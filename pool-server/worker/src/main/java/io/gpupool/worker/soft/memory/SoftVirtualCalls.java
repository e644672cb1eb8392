// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.memory;

import io.gpupool.cuda.VirtualMemoryCalls;
import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.SoftDevice;
import io.gpupool.soft.memory.DeviceMemory;
import io.gpupool.soft.memory.PhysicalBlock;
import io.gpupool.soft.memory.VirtualSpace;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.soft.state.SoftCalls;
import io.gpupool.worker.soft.state.SoftState;

/** Driver calls of virtual memory management. */
public final class SoftVirtualCalls extends SoftCalls implements VirtualMemoryCalls {
  /*
   * CUmemAllocationProp, 32 bytes: i32 type, i32 handle types, i32 location type, i32 location, u64
   * metadata, flags. CUmemLocation: i32 type, i32 location.
   */
  private static final int PROP_HANDLE_TYPES = 4;
  private static final int PROP_LOCATION_TYPE = 8;
  private static final int PROP_LOCATION = 12;
  private static final int ALLOCATION_PINNED = 1;
  private static final int LOCATION_DEVICE = 1;
  static final int HANDLE_DESCRIPTOR = 1;

  public SoftVirtualCalls(SoftState state) {
    super(state);
  }

  @Override
  public int cuMemGetAllocationGranularity(long granularity, long prop, int option) {
    return call(() -> {
      blockDevice(prop);
      Memory.putLong(granularity, VirtualSpace.GRANULE_BYTES);
    });
  }

  @Override
  public int cuMemAddressReserve(
      long address, long bytes, long alignment, long wanted, long flags) {
    return call(() -> {
      if (flags != 0) {
        throw new GpuException(CudaStatus.INVALID_VALUE, "address flags " + flags);
      }
      // The wanted address is a hint. Kernels are fastest in the addresses of their own device.
      VirtualSpace space = state().currentOrFirstDevice().memory().virtual();
      long reserved =
          state()
              .gpu()
              .placements()
              .make(at -> space.reserveAt(at, bytes), () -> space.reserve(bytes, alignment));
      Memory.putLong(address, reserved);
    });
  }

  @Override
  public int cuMemAddressFree(long address, long bytes) {
    return call(() -> space(address).free(address, bytes));
  }

  @Override
  public int cuMemCreate(long handle, long bytes, long prop, long flags) {
    return call(() -> {
      if (flags != 0) {
        throw new GpuException(CudaStatus.INVALID_VALUE, "allocation flags " + flags);
      }
      DeviceMemory memory = blockDevice(prop).memory();
      PhysicalBlock block =
          Memory.getInt(prop + PROP_HANDLE_TYPES) == 0
              ? memory.createBlock(bytes)
              : memory.createShareableBlock(bytes);
      Memory.putLong(handle, state().handles().add(block));
    });
  }

  @Override
  public int cuMemRelease(long handle) {
    return call(() -> state().handles().remove(handle, PhysicalBlock.class).release());
  }

  @Override
  public int cuMemRetainAllocationHandle(long handle, long address) {
    return call(() -> {
      PhysicalBlock block = space(address).block(address);
      block.retain();
      Memory.putLong(handle, state().handles().add(block));
    });
  }

  @Override
  public int cuMemMap(long address, long bytes, long offset, long handle, long flags) {
    return call(() -> {
      PhysicalBlock block = state().handles().get(handle, PhysicalBlock.class);
      if (flags != 0) {
        throw new GpuException(CudaStatus.INVALID_VALUE, "mapping flags " + flags);
      }
      space(address).map(address, bytes, offset, block);
    });
  }

  @Override
  public int cuMemUnmap(long address, long bytes) {
    return call(() -> space(address).unmap(address, bytes));
  }

  @Override
  public int cuMemSetAccess(long address, long bytes, long descriptions, long count) {
    return call(() -> {
      for (long index = 0; index < count; index++) {
        AccessDescription access = AccessDescription.read(descriptions, index);
        space(address).setAccess(address, bytes, device(access.device()).ordinal(), access.flags());
      }
    });
  }

  @Override
  public int cuMemGetAccess(long flags, long location, long address) {
    return call(() -> {
      if (Memory.getInt(location) != LOCATION_DEVICE) {
        throw new GpuException(CudaStatus.NOT_SUPPORTED, "access of what is no device");
      }
      int ordinal = device(Memory.getInt(location + 4)).ordinal();
      Memory.putLong(flags, space(address).access(address, ordinal));
    });
  }

  private VirtualSpace space(long address) {
    return state().gpu().devices().stream()
        .map(device -> device.memory().virtual())
        .filter(space -> space.covers(address))
        .findFirst()
        .orElseThrow(() ->
            new GpuException(
                CudaStatus.INVALID_VALUE, "0x" + Long.toHexString(address) + " is not reserved"));
  }

  private SoftDevice blockDevice(long prop) {
    if (Memory.getInt(prop) != ALLOCATION_PINNED) {
      throw new GpuException(CudaStatus.INVALID_VALUE, "allocation type " + Memory.getInt(prop));
    }
    if (Memory.getInt(prop + PROP_LOCATION_TYPE) != LOCATION_DEVICE
        || (Memory.getInt(prop + PROP_HANDLE_TYPES) & ~HANDLE_DESCRIPTOR) != 0) {
      throw new GpuException(
          CudaStatus.NOT_SUPPORTED, "blocks with handles that are no descriptors, or on no device");
    }
    return device(Memory.getInt(prop + PROP_LOCATION));
  }
}
