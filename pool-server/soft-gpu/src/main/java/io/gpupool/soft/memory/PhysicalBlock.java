// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.memory;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;

/**
 * A piece of device memory without an address of its own, as {@code cuMemCreate} makes it: a part
 * of a file in memory. It lives as long as it has a handle or is mapped somewhere. Any thread may
 * call it.
 */
public final class PhysicalBlock {
  private final int descriptor;
  private final long offset;
  private final long sizeBytes;
  private final boolean shareable;
  private final Runnable ended;

  /** Handles and mappings. */
  private int uses = 1;

  /**
   * A part of a file.
   *
   * @param shareable whether it is all of the file, so that others may have that
   */
  PhysicalBlock(int descriptor, long offset, long sizeBytes, boolean shareable, Runnable ended) {
    this.descriptor = descriptor;
    this.offset = offset;
    this.sizeBytes = sizeBytes;
    this.shareable = shareable;
    this.ended = ended;
  }

  /**
   * A block of another process, which is a whole file.
   *
   * @param descriptor of it; closed with the block
   * @throws GpuException INVALID_VALUE if it is no file of blocks
   */
  public static PhysicalBlock ofFile(int descriptor) {
    SharedFile file = new SharedFile(descriptor);
    long sizeBytes = file.lengthBytes();
    if (sizeBytes <= 0 || sizeBytes % VirtualSpace.GRANULE_BYTES != 0) {
      file.close();
      throw new GpuException(CudaStatus.INVALID_VALUE, "the descriptor is no block's");
    }
    return new PhysicalBlock(descriptor, 0, sizeBytes, true, file::close);
  }

  /** Pages of another process; closes the descriptor when they are not used any more. */
  static PhysicalBlock ofFile(int descriptor, long offset, long sizeBytes) {
    SharedFile file = new SharedFile(descriptor);
    return new PhysicalBlock(descriptor, offset, sizeBytes, false, file::close);
  }

  /** Whether it is all of its file. */
  public boolean isShareable() {
    return shareable;
  }

  public long sizeBytes() {
    return sizeBytes;
  }

  /** Counts one more handle or mapping. */
  public synchronized void retain() {
    uses++;
  }

  /** Takes a handle or mapping off; with the last one the memory is free. */
  public void release() {
    if (isLast()) {
      ended.run();
    }
  }

  /** The file that it is a part of. */
  public int descriptor() {
    return descriptor;
  }

  long offset() {
    return offset;
  }

  private synchronized boolean isLast() {
    return --uses == 0;
  }
}
