// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.memory;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import java.util.Optional;
import java.util.OptionalLong;

/** The blocks of one device that are mapped by the program, in one file. Any thread may call it. */
final class PhysicalStore implements AutoCloseable {
  private final Budget budget;
  private final long capacityBytes;
  private final Heap places;
  private Optional<SharedFile> file = Optional.empty();

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
    if (sizeBytes <= 0 || sizeBytes % VirtualSpace.GRANULE_BYTES != 0) {
      throw new GpuException(
          CudaStatus.INVALID_VALUE,
          sizeBytes + " bytes is no multiple of " + VirtualSpace.GRANULE_BYTES);
    }
    if (file.isEmpty()) {
      file = SharedFile.create(capacityBytes);
      if (file.isEmpty()) {
        throw new GpuException(
            CudaStatus.NOT_SUPPORTED, "this system has no files in memory (memfd_create)");
      }
    }
    if (!budget.take(sizeBytes)) {
      throw new GpuException(CudaStatus.OUT_OF_MEMORY, "no " + sizeBytes + " bytes are left");
    }
    OptionalLong place = places.allocate(sizeBytes, this);
    if (place.isEmpty()) {
      budget.giveBack(sizeBytes);
      throw new GpuException(CudaStatus.OUT_OF_MEMORY, "no " + sizeBytes + " bytes in one piece");
    }
    return new PhysicalBlock(this, place.getAsLong(), sizeBytes);
  }

  synchronized void retain(PhysicalBlock block) {
    block.uses++;
  }

  synchronized void release(PhysicalBlock block) {
    if (--block.uses == 0) {
      file.orElseThrow().discard(block.offset(), block.sizeBytes());
      places.free(block.offset());
      budget.giveBack(block.sizeBytes());
    }
  }

  synchronized int descriptor() {
    return file.orElseThrow().descriptor();
  }

  @Override
  public synchronized void close() {
    file.ifPresent(SharedFile::close);
    file = Optional.empty();
  }
}
