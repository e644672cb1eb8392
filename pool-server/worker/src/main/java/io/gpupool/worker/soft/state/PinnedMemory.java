// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.state;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.memory.HostBuffer;
import java.util.concurrent.ConcurrentHashMap;

/** Host memory that driver calls allocate; any thread may call it. */
public final class PinnedMemory {
  private final ConcurrentHashMap<Long, HostBuffer> buffers = new ConcurrentHashMap<>();

  public long allocate(long bytes) {
    if (bytes <= 0) {
      throw new GpuException(CudaStatus.INVALID_VALUE, "cannot allocate " + bytes + " bytes");
    }
    HostBuffer buffer = new HostBuffer(bytes);
    buffers.put(buffer.segment().address(), buffer);
    return buffer.segment().address();
  }

  public void free(long address) {
    HostBuffer buffer = buffers.remove(address);
    if (buffer == null) {
      throw new GpuException(
          CudaStatus.INVALID_VALUE, "no host allocation at 0x" + Long.toHexString(address));
    }
    buffer.close();
  }
}
