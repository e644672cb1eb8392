// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.memory;

import io.gpupool.cuda.MemoryPoolCalls;
import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.SoftPool;
import io.gpupool.soft.device.context.SoftStream;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.soft.state.SoftCalls;
import io.gpupool.worker.soft.state.SoftState;

/** Driver calls about memory pools. */
public final class SoftPoolCalls extends SoftCalls implements MemoryPoolCalls {
  /** Attributes up to this one are ints, the others 64-bit. */
  private static final int LAST_INT_POOL_ATTRIBUTE = 3;

  public SoftPoolCalls(SoftState state) {
    super(state);
  }

  @Override
  public int cuDeviceGetDefaultMemPool(long pool, int device) {
    return call(() -> Memory.putLong(pool, state().poolHandle(device(device).defaultPool())));
  }

  @Override
  public int cuMemPoolCreate(long pool, long props) {
    return call(() -> {
      PoolProperties wanted = PoolProperties.read(props);
      long maxBytes = wanted.maxBytes();
      if (maxBytes < 0) {
        throw new GpuException(CudaStatus.INVALID_VALUE, "a pool of " + maxBytes + " bytes");
      }
      SoftPool made = new SoftPool(device(wanted.device()), maxBytes, wanted.shareable());
      Memory.putLong(pool, state().handles().add(made));
    });
  }

  @Override
  public int cuMemPoolDestroy(long pool) {
    return call(() -> {
      pool(pool).destroy();
      state().handles().remove(pool, SoftPool.class);
    });
  }

  @Override
  public int cuMemPoolSetAccess(long pool, long descriptions, long count) {
    return call(() -> {
      SoftPool target = pool(pool);
      for (long index = 0; index < count; index++) {
        AccessDescription access = AccessDescription.read(descriptions, index);
        target.setAccess(device(access.device()), access.flags());
      }
    });
  }

  @Override
  public int cuMemPoolTrimTo(long pool, long minBytesToKeep) {
    // Pools keep nothing back that could be trimmed.
    return call(() -> pool(pool));
  }

  @Override
  public int cuMemPoolSetAttribute(long pool, int attribute, long value) {
    return call(() -> {
      boolean narrow = attribute <= LAST_INT_POOL_ATTRIBUTE;
      long bits = narrow ? Memory.getInt(value) : Memory.getLong(value);
      pool(pool).setAttribute(attribute, bits);
    });
  }

  @Override
  public int cuMemPoolGetAttribute(long pool, int attribute, long value) {
    return call(() -> {
      long bits = pool(pool).attribute(attribute);
      if (attribute <= LAST_INT_POOL_ATTRIBUTE) {
        Memory.putInt(value, (int) bits);
      } else {
        Memory.putLong(value, bits);
      }
    });
  }

  @Override
  public int cuMemAllocAsync(long address, long bytes, long stream) {
    return call(() -> {
      SoftStream target = stream(stream);
      SoftPool pool = target.context().device().pool();
      Memory.putLong(address, target.allocate(pool, bytes));
    });
  }

  @Override
  public int cuMemAllocFromPoolAsync(long address, long bytes, long pool, long stream) {
    return call(() -> {
      SoftPool source = state().handles().get(pool, SoftPool.class);
      Memory.putLong(address, stream(stream).allocate(source, bytes));
    });
  }

  @Override
  public int cuMemFreeAsync(long address, long stream) {
    return call(() -> {
      SoftStream target = stream(stream);
      if (address != 0) {
        target.free(address);
      }
    });
  }

  private SoftPool pool(long handle) {
    return state().handles().get(handle, SoftPool.class);
  }
}
