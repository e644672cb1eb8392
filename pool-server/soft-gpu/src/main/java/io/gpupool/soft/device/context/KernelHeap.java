// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.context;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.SoftDevice;
import io.gpupool.soft.device.spec.Limits;
import io.gpupool.soft.memory.Allocation;
import io.gpupool.soft.memory.DeviceHeap;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.List;

/**
 * The device heap of a context: it takes its memory when the first module is loaded whose code
 * allocates, has the size that the limit says, and stays until the context ends. Its size can be
 * changed until the first kernel of such a module is launched. Any thread may call it.
 */
public final class KernelHeap {
  private final SoftContext context;
  private DeviceHeap heap = DeviceHeap.NONE;

  /** As it was allocated. */
  private long sizeBytes;

  private boolean required;
  private boolean used;

  KernelHeap(SoftContext context) {
    this.context = context;
  }

  /** Device memory that the heap occupies. */
  public synchronized long occupiedBytes() {
    return heap.sizeBytes();
  }

  /**
   * Sets the limit, and the heap's size with it.
   *
   * @throws GpuException INVALID_VALUE once a kernel may have allocated, OUT_OF_MEMORY
   */
  synchronized void resize(long bytes) {
    if (bytes < 0) {
      throw new GpuException(CudaStatus.INVALID_VALUE, "a heap of " + bytes + " bytes");
    }
    if (context.device().gpu().placements().isRestoring() && required) {
      context.limits().set(Limits.MALLOC_HEAP_SIZE, bytes);
      return;
    }
    if (used) {
      throw new GpuException(
          CudaStatus.INVALID_VALUE, "the heap's size cannot change once a kernel uses it");
    }
    if (required) {
      place(bytes);
    }
    context.limits().set(Limits.MALLOC_HEAP_SIZE, bytes);
  }

  /**
   * Takes the heap's memory, unless it has it.
   *
   * @throws GpuException OUT_OF_MEMORY
   */
  public synchronized void require() {
    if (!required) {
      place(context.limits().get(Limits.MALLOC_HEAP_SIZE));
      required = true;
    }
  }

  /** The heap for a kernel that is launched. */
  public synchronized DeviceHeap use() {
    used = true;
    return heap;
  }

  /** Writes down where it is and which pieces of it are in use. */
  synchronized void save(DataOutput to) throws IOException {
    to.writeBoolean(required);
    to.writeBoolean(used);
    to.writeLong(heap.address());
    to.writeLong(heap == DeviceHeap.NONE ? 0 : sizeBytes);
    List<Allocation> pieces = heap == DeviceHeap.NONE ? List.of() : heap.pieces();
    to.writeInt(pieces.size());
    for (Allocation piece : pieces) {
      to.writeLong(piece.address());
      to.writeLong(piece.sizeBytes());
    }
  }

  /**
   * Makes it as it was written down; nothing was allocated yet.
   *
   * @throws GpuException INVALID_VALUE, OUT_OF_MEMORY
   */
  synchronized void restore(DataInput from) throws IOException {
    required = from.readBoolean();
    used = from.readBoolean();
    long address = from.readLong();
    sizeBytes = from.readLong();
    if (sizeBytes > 0) {
      context.device().memory().allocateAt(address, sizeBytes, context.moduleData());
      heap = new DeviceHeap(address, sizeBytes);
    }
    for (int pieces = from.readInt(); pieces > 0; pieces--) {
      if (!heap.allocateAt(from.readLong(), from.readLong())) {
        throw new GpuException(CudaStatus.INVALID_VALUE, "a piece of a heap is not free");
      }
    }
  }

  private void place(long bytes) {
    SoftDevice device = context.device();
    if (heap != DeviceHeap.NONE) {
      device.memory().free(heap.address());
      heap = DeviceHeap.NONE;
    }
    sizeBytes = bytes;
    if (bytes > 0) {
      heap = new DeviceHeap(device.allocateAnywhere(bytes, context.moduleData()), bytes);
    }
  }
}
