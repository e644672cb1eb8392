// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.memory;

/**
 * A piece of device memory without an address of its own, as {@code cuMemCreate} makes it. It lives
 * as long as it has a handle or is mapped somewhere. The {@link PhysicalStore} guards its counts.
 */
public final class PhysicalBlock {
  private final PhysicalStore store;
  private final long offset;
  private final long sizeBytes;

  /** Handles and mappings. */
  int uses = 1;

  PhysicalBlock(PhysicalStore store, long offset, long sizeBytes) {
    this.store = store;
    this.offset = offset;
    this.sizeBytes = sizeBytes;
  }

  public long sizeBytes() {
    return sizeBytes;
  }

  /** Counts one more handle or mapping. */
  public void retain() {
    store.retain(this);
  }

  /** Takes a handle or mapping off; with the last one the memory is free. */
  public void release() {
    store.release(this);
  }

  long offset() {
    return offset;
  }

  PhysicalStore store() {
    return store;
  }
}
