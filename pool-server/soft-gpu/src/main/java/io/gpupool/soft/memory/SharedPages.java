// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.memory;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import org.jspecify.annotations.Nullable;

/**
 * The pages of a device's heap that other processes may have, too: they are moved into a file, as
 * far from its beginning as they are from the heap's, and mapped where they were. Not thread-safe;
 * {@link DeviceMemory} guards it.
 */
final class SharedPages implements AutoCloseable {
  /** So much is there twice while it is moved. */
  private static final long STEP_BYTES = 2L << 20;

  private final Mapping mapping;
  private final RangeSet inFile = new RangeSet();
  private @Nullable SharedFile file;

  SharedPages(Mapping mapping) {
    this.mapping = mapping;
  }

  /**
   * Moves the pages of an allocation that are not in the file yet; nothing may write to them
   * meanwhile.
   *
   * @throws GpuException OUT_OF_MEMORY, NOT_SUPPORTED
   */
  SharedPiece share(Allocation allocation) {
    SharedFile open = open();
    long start = allocation.address() & -Mapping.PAGE_BYTES;
    long end = roundUp(allocation.address() + allocation.sizeBytes());
    inFile.forEachGap(
        start,
        end,
        (from, to) -> {
          for (long at = from; at < to; at += STEP_BYTES) {
            move(open, at, Math.min(STEP_BYTES, to - at));
          }
        });
    inFile.add(start, end);
    return new SharedPiece(
        open.descriptor(),
        start - mapping.address(),
        end - start,
        allocation.address() - start,
        allocation.sizeBytes());
  }

  private SharedFile open() {
    SharedFile open = file;
    if (open == null) {
      open =
          SharedFile.create(mapping.sizeBytes())
              .orElseThrow(() ->
                  new GpuException(
                      CudaStatus.NOT_SUPPORTED,
                      "this system has no files in memory (memfd_create)"));
      file = open;
    }
    return open;
  }

  /** What was allocated here is free: pages that are all its own are private again, and empty. */
  void freed(long address, long sizeBytes) {
    long start = roundUp(address);
    long end = (address + sizeBytes) & -Mapping.PAGE_BYTES;
    if (file == null || start >= end || inFile.isFree(start, end)) {
      return;
    }
    mapping.unshare(start, end - start);
    file.discard(start - mapping.address(), end - start);
    inFile.remove(start, end);
  }

  @Override
  public void close() {
    if (file != null) {
      file.close();
      file = null;
    }
  }

  private void move(SharedFile open, long start, long lengthBytes) {
    long offset = start - mapping.address();
    if (!open.write(offset, start, lengthBytes)
        || !mapping.share(start, lengthBytes, open.descriptor(), offset)) {
      throw new GpuException(
          CudaStatus.OUT_OF_MEMORY, "the system has no memory to share " + lengthBytes + " bytes");
    }
  }

  private static long roundUp(long address) {
    return (address + Mapping.PAGE_BYTES - 1) & -Mapping.PAGE_BYTES;
  }
}
