// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.context;

import io.gpupool.cuda.MemoryOperationLayout;
import io.gpupool.cuda.MemoryOperationType;
import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.context.SoftStream;
import io.gpupool.soft.device.work.ValueWait;
import io.gpupool.worker.os.Memory;

/** A CUstreamBatchMemOpParams of the kinds that wait or write. */
record StreamMemoryOperation(int operation, long address, long value, int flags) {
  static StreamMemoryOperation read(long operations, long index) {
    long at = operations + index * MemoryOperationLayout.BYTES;
    return new StreamMemoryOperation(
        Memory.getInt(at + MemoryOperationLayout.OPERATION),
        Memory.getLong(at + MemoryOperationLayout.ADDRESS),
        Memory.getLong(at + MemoryOperationLayout.VALUE),
        Memory.getInt(at + MemoryOperationLayout.FLAGS));
  }

  void submit(SoftStream stream) {
    switch (operation) {
      case MemoryOperationType.WAIT_VALUE_32, MemoryOperationType.WAIT_VALUE_64 ->
          stream.waitValue(
              address, ValueWait.of(flags, value, operation == MemoryOperationType.WAIT_VALUE_64));
      case MemoryOperationType.WRITE_VALUE_32, MemoryOperationType.WRITE_VALUE_64 -> {
        // The one flag there is takes a promise back that is kept all the same.
        if ((flags & ~1) != 0) {
          throw new GpuException(CudaStatus.INVALID_VALUE, "write flags " + flags);
        }
        stream.writeValue(address, value, operation == MemoryOperationType.WRITE_VALUE_64);
      }
      case MemoryOperationType.BARRIER -> {
        // Operations of a stream see those before them anyway.
      }
      case MemoryOperationType.FLUSH_REMOTE_WRITES ->
          throw new GpuException(CudaStatus.NOT_SUPPORTED, "there are no remote writes to flush");
      default ->
          throw new GpuException(CudaStatus.INVALID_VALUE, "no memory operation " + operation);
    }
  }
}
