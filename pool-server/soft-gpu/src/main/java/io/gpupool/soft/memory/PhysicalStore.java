// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.memory;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * The blocks of one device that are mapped by the program: in one file, or, if other processes are
 * to have them, in one each. Any thread may call it.
 */
final class PhysicalStore implements AutoCloseable {
  private final Budget budget;
  private final long capacityBytes;
  private final Heap places;
  private @Nullable SharedFile file;

  /** What a device has left, shared with its other allocations. */
  interface Budget {
    /** False if there is not so much. */
    boolean take(long bytes);

    void giveBack(long bytes);
  }

  /** Makes an empty store; the file is made with the first block. */
  PhysicalStore(Budget budget, long capacityBytes) {
    this.budget = budget;
    this.capacityBytes = capacityBytes;
    places = new Heap(0, capacityBytes, VirtualSpace.GRANULE_BYTES);
  }

  synchronized PhysicalBlock create(long sizeBytes) {
    requireGranules(sizeBytes);
    SharedFile open = file;
    if (open == null) {
      open = SharedFile.create(capacityBytes).orElseThrow(PhysicalStore::noFiles);
      file = open;
    }
    if (!budget.take(sizeBytes)) {
      throw new GpuException(CudaStatus.OUT_OF_MEMORY, "no " + sizeBytes + " bytes are left");
    }
    OptionalLong place = places.allocate(sizeBytes, this);
    if (place.isEmpty()) {
      budget.giveBack(sizeBytes);
      throw new GpuException(CudaStatus.OUT_OF_MEMORY, "no " + sizeBytes + " bytes in one piece");
    }
    long offset = place.getAsLong();
    int descriptor = open.descriptor();
    return new PhysicalBlock(descriptor, offset, sizeBytes, false, () -> free(offset, sizeBytes));
  }

  /** A block in a file of its own, so that its pages are nobody's but those that have it. */
  PhysicalBlock createShareable(long sizeBytes) {
    requireGranules(sizeBytes);
    if (!budget.take(sizeBytes)) {
      throw new GpuException(CudaStatus.OUT_OF_MEMORY, "no " + sizeBytes + " bytes are left");
    }
    Optional<SharedFile> own = SharedFile.create(sizeBytes);
    if (own.isEmpty()) {
      budget.giveBack(sizeBytes);
      throw noFiles();
    }
    SharedFile made = own.get();
    return new PhysicalBlock(
        made.descriptor(),
        0,
        sizeBytes,
        true,
        () -> {
          made.close();
          budget.giveBack(sizeBytes);
        });
  }

  private synchronized void free(long offset, long sizeBytes) {
    if (file != null) {
      file.discard(offset, sizeBytes);
    }
    places.free(offset);
    budget.giveBack(sizeBytes);
  }

  private static void requireGranules(long sizeBytes) {
    if (sizeBytes <= 0 || sizeBytes % VirtualSpace.GRANULE_BYTES != 0) {
      throw new GpuException(
          CudaStatus.INVALID_VALUE,
          sizeBytes + " bytes is no multiple of " + VirtualSpace.GRANULE_BYTES);
    }
  }

  private static GpuException noFiles() {
    return new GpuException(
        CudaStatus.NOT_SUPPORTED, "this system has no files in memory (memfd_create)");
  }

  @Override
  public synchronized void close() {
    if (file != null) {
      file.close();
      file = null;
    }
  }
}
