// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;

/**
 * A memory pool for stream-ordered allocations: a share of the device's memory with its own
 * accounting and attributes. Any thread may call it.
 */
public final class SoftPool {
  private static final int REUSE_FOLLOW_EVENT_DEPENDENCIES = 1;
  private static final int REUSE_ALLOW_INTERNAL_DEPENDENCIES = 3;
  private static final int RELEASE_THRESHOLD = 4;
  private static final int RESERVED_MEM_CURRENT = 5;
  private static final int RESERVED_MEM_HIGH = 6;
  private static final int USED_MEM_CURRENT = 7;
  private static final int USED_MEM_HIGH = 8;

  private static final int NO_ACCESS = 0;
  private static final int READ = 1;
  private static final int READ_WRITE = 3;

  private final SoftDevice device;
  private final long maxBytes;
  private final boolean shareable;
  private final boolean ofAnotherProcess;
  private final boolean[] reuse = {true, true, true};
  private long releaseThreshold;
  private long usedBytes;
  private long usedHighBytes;
  private long reservedHighBytes;
  private boolean destroyed;

  /**
   * A pool.
   *
   * @param maxBytes the most it may hold; 0 for no limit of its own
   * @param shareable whether other processes may have its memory
   */
  public SoftPool(SoftDevice device, long maxBytes, boolean shareable) {
    this(device, maxBytes, shareable, false);
  }

  private SoftPool(SoftDevice device, long maxBytes, boolean shareable, boolean ofAnotherProcess) {
    this.device = device;
    this.maxBytes = maxBytes;
    this.shareable = shareable;
    this.ofAnotherProcess = ofAnotherProcess;
  }

  /** Stands for a pool of another process: gives no memory but what that process has shared. */
  public static SoftPool ofAnotherProcess(SoftDevice device) {
    return new SoftPool(device, 0, false, true);
  }

  /**
   * Checks that other processes may have its memory.
   *
   * @throws GpuException INVALID_VALUE
   */
  public void requireShareable() {
    if (!shareable) {
      throw new GpuException(
          CudaStatus.INVALID_VALUE, "the pool was made without handles of that type");
    }
  }

  /**
   * Checks that it is one of {@link #ofAnotherProcess}.
   *
   * @throws GpuException INVALID_VALUE
   */
  public void requireOfAnotherProcess() {
    if (!ofAnotherProcess) {
      throw new GpuException(CudaStatus.INVALID_VALUE, "the pool is this process's own");
    }
  }

  public SoftDevice device() {
    return device;
  }

  /**
   * Reads a CUmemPool_attribute of CUDA 12: flags as 0 or 1, sizes in bytes. Freed memory goes
   * straight back to the device, so what is reserved is what is used.
   */
  public synchronized long attribute(int attribute) {
    return switch (attribute) {
      case REUSE_FOLLOW_EVENT_DEPENDENCIES, 2, REUSE_ALLOW_INTERNAL_DEPENDENCIES ->
          reuse[attribute - 1] ? 1 : 0;
      case RELEASE_THRESHOLD -> releaseThreshold;
      case RESERVED_MEM_CURRENT, USED_MEM_CURRENT -> usedBytes;
      case RESERVED_MEM_HIGH -> reservedHighBytes;
      case USED_MEM_HIGH -> usedHighBytes;
      default -> throw noSuchAttribute(attribute);
    };
  }

  /** Writes an attribute; the high marks can only be set back, by writing 0. */
  public synchronized void setAttribute(int attribute, long value) {
    switch (attribute) {
      case REUSE_FOLLOW_EVENT_DEPENDENCIES, 2, REUSE_ALLOW_INTERNAL_DEPENDENCIES ->
          reuse[attribute - 1] = value != 0;
      case RELEASE_THRESHOLD -> releaseThreshold = value;
      case RESERVED_MEM_HIGH -> {
        requireZero(value);
        reservedHighBytes = usedBytes;
      }
      case USED_MEM_HIGH -> {
        requireZero(value);
        usedHighBytes = usedBytes;
      }
      default -> throw noSuchAttribute(attribute);
    }
  }

  /**
   * Says what another device may do with the pool's memory. All devices lie in one process, where
   * memory of one is within reach of all, so that there is nothing to do but to check it.
   *
   * @param flags CUmemAccess_flags
   * @throws GpuException INVALID_VALUE for what is no access, and for taking the pool's own
   *     device's
   */
  public void setAccess(SoftDevice other, int flags) {
    boolean possible = other != device || flags == READ_WRITE;
    if (!possible || flags != NO_ACCESS && flags != READ && flags != READ_WRITE) {
      throw new GpuException(CudaStatus.INVALID_VALUE, "access " + flags + " to a pool's memory");
    }
  }

  /** Ends the pool for new allocations; those that live stay until they are freed. */
  public synchronized void destroy() {
    if (this == device.defaultPool()) {
      throw new GpuException(CudaStatus.INVALID_VALUE, "the default pool cannot be destroyed");
    }
    destroyed = true;
    if (device.pool() == this) {
      device.setPool(device.defaultPool());
    }
  }

  public long allocate(long bytes) {
    synchronized (this) {
      if (ofAnotherProcess) {
        throw new GpuException(CudaStatus.INVALID_VALUE, "the pool is another process's");
      }
      if (destroyed) {
        throw new GpuException(CudaStatus.INVALID_VALUE, "the pool is destroyed");
      }
      if (maxBytes > 0 && bytes > maxBytes - usedBytes) {
        throw new GpuException(
            CudaStatus.OUT_OF_MEMORY, bytes + " bytes asked for of a pool of " + maxBytes);
      }
    }
    long address = device.allocate(bytes, this);
    synchronized (this) {
      usedBytes += bytes;
      usedHighBytes = Math.max(usedHighBytes, usedBytes);
      reservedHighBytes = Math.max(reservedHighBytes, usedBytes);
    }
    return address;
  }

  public synchronized void freed(long bytes) {
    usedBytes -= bytes;
  }

  private static void requireZero(long value) {
    if (value != 0) {
      throw new GpuException(CudaStatus.INVALID_VALUE, "a high mark can only be set to 0");
    }
  }

  private static GpuException noSuchAttribute(int attribute) {
    return new GpuException(
        CudaStatus.INVALID_VALUE, "memory pool attribute " + attribute + " cannot be used so");
  }
}
