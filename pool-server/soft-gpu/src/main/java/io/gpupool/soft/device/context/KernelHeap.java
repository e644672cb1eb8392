// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.context;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.SoftDevice;
import io.gpupool.soft.device.spec.Limits;
import io.gpupool.soft.memory.DeviceHeap;

/**
 * The device heap of a context: it takes its memory when the first module is loaded whose code
 * allocates, has the size that the limit says, and stays until the context ends. Its size can be
 * changed until the first kernel of such a module is launched. Any thread may call it.
 */
public final class KernelHeap {
  private final SoftContext context;
  private DeviceHeap heap = DeviceHeap.NONE;
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

  private void place(long bytes) {
    SoftDevice device = context.device();
    if (heap != DeviceHeap.NONE) {
      device.memory().free(heap.address());
      heap = DeviceHeap.NONE;
    }
    if (bytes > 0) {
      heap = new DeviceHeap(device.allocate(bytes, context.moduleData()), bytes);
    }
  }
}
