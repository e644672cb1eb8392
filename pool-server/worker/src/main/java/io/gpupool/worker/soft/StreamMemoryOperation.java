// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.SoftStream;
import io.gpupool.soft.device.work.ValueWait;
import io.gpupool.worker.os.Memory;

/**
 * A CUstreamBatchMemOpParams, 48 bytes: i32 operation, u64 address at 8, u32 or u64 value at 16,
 * u32 flags at 24, u64 alias.
 */
record StreamMemoryOperation(int operation, long address, long value, int flags) {
  private static final int BYTES = 48;
  private static final int WAIT_32 = 1;
  private static final int WRITE_32 = 2;
  private static final int FLUSH_REMOTE_WRITES = 3;
  private static final int WAIT_64 = 4;
  private static final int WRITE_64 = 5;
  private static final int BARRIER = 6;

  static StreamMemoryOperation read(long operations, long index) {
    long at = operations + index * BYTES;
    return new StreamMemoryOperation(
        Memory.getInt(at), Memory.getLong(at + 8), Memory.getLong(at + 16), Memory.getInt(at + 24));
  }

  void submit(SoftStream stream) {
    switch (operation) {
      case WAIT_32, WAIT_64 ->
          stream.waitValue(address, ValueWait.of(flags, value, operation == WAIT_64));
      case WRITE_32, WRITE_64 -> {
        // The one flag there is takes a promise back that is kept all the same.
        if ((flags & ~1) != 0) {
          throw new GpuException(CudaStatus.INVALID_VALUE, "write flags " + flags);
        }
        stream.writeValue(address, value, operation == WRITE_64);
      }
      case BARRIER -> {
        // Operations of a stream see those before them anyway.
      }
      case FLUSH_REMOTE_WRITES ->
          throw new GpuException(CudaStatus.NOT_SUPPORTED, "there are no remote writes to flush");
      default ->
          throw new GpuException(CudaStatus.INVALID_VALUE, "no memory operation " + operation);
    }
  }
}
