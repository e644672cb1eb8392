// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.SoftPool;
import io.gpupool.worker.os.Memory;

/** Driver calls about memory pools. */
interface SoftPoolCalls extends SoftCalls {
  /** Attributes up to this one are ints, the others 64-bit. */
  int LAST_INT_POOL_ATTRIBUTE = 3;

  @Override
  default int cuDeviceGetDefaultMemPool(long pool, int device) {
    return call(() -> Memory.putLong(pool, state().poolHandle(device(device).defaultPool())));
  }

  @Override
  default int cuMemPoolCreate(long pool, long props) {
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
  default int cuMemPoolDestroy(long pool) {
    return call(() -> {
      pool(pool).destroy();
      state().handles().remove(pool, SoftPool.class);
    });
  }

  @Override
  default int cuMemPoolSetAccess(long pool, long descriptions, long count) {
    return call(() -> {
      SoftPool target = pool(pool);
      for (long index = 0; index < count; index++) {
        AccessDescription access = AccessDescription.read(descriptions, index);
        target.setAccess(device(access.device()), access.flags());
      }
    });
  }

  @Override
  default int cuMemPoolTrimTo(long pool, long minBytesToKeep) {
    // Pools keep nothing back that could be trimmed.
    return call(() -> pool(pool));
  }

  @Override
  default int cuMemPoolSetAttribute(long pool, int attribute, long value) {
    return call(() -> {
      boolean narrow = attribute <= LAST_INT_POOL_ATTRIBUTE;
      long bits = narrow ? Memory.getInt(value) : Memory.getLong(value);
      pool(pool).setAttribute(attribute, bits);
    });
  }

  @Override
  default int cuMemPoolGetAttribute(long pool, int attribute, long value) {
    return call(() -> {
      long bits = pool(pool).attribute(attribute);
      if (attribute <= LAST_INT_POOL_ATTRIBUTE) {
        Memory.putInt(value, (int) bits);
      } else {
        Memory.putLong(value, bits);
      }
    });
  }

  private SoftPool pool(long handle) {
    return state().handles().get(handle, SoftPool.class);
  }
}
