// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.memory;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import java.lang.foreign.MemorySegment;

/**
 * Memory outside the Java heap for bytes on their way to a device. Whoever closes it must know that
 * nobody uses it any more.
 */
public final class HostBuffer implements AutoCloseable {
  private static final CFunction MALLOC = CFunction.of("malloc");
  private static final CFunction FREE = CFunction.of("free");

  private final MemorySegment segment;

  /**
   * Allocates; the contents are arbitrary.
   *
   * @throws GpuException OUT_OF_MEMORY
   */
  public HostBuffer(long lengthBytes) {
    long address = MALLOC.call(lengthBytes, 0, 0);
    if (address == 0) {
      throw new GpuException(
          CudaStatus.OUT_OF_MEMORY, "no host memory to stage " + lengthBytes + " bytes");
    }
    segment = MemorySegment.ofAddress(address).reinterpret(lengthBytes);
  }

  public MemorySegment segment() {
    return segment;
  }

  @Override
  public void close() {
    FREE.call(segment.address(), 0, 0);
  }
}
