// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.stream;

import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.MemoryOperationLayout;
import io.gpupool.cuda.MemoryOperationType;
import io.gpupool.cuda.WireStruct;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.session.quota.OwnedMemory;

/** The backend's CUstreamBatchMemOpParams of those that came, whose words are the session's. */
final class MemoryOperations {
  static final int BYTES = MemoryOperationLayout.BYTES;

  private MemoryOperations() {}

  /** Writes operation {@code index} for the backend; returns a CUresult. */
  static int write(OwnedMemory owned, WireStruct from, int index, long to) {
    long at = (long) BYTES * index;
    Memory.clear(to, BYTES);
    int operation = from.i32(at + MemoryOperationLayout.OPERATION);
    Memory.putInt(to + MemoryOperationLayout.OPERATION, operation);
    switch (operation) {
      case MemoryOperationType.WAIT_VALUE_32,
          MemoryOperationType.WRITE_VALUE_32,
          MemoryOperationType.WAIT_VALUE_64,
          MemoryOperationType.WRITE_VALUE_64 -> {
        boolean wide =
            operation == MemoryOperationType.WAIT_VALUE_64
                || operation == MemoryOperationType.WRITE_VALUE_64;
        if (!owned.owns(
            from.u64(at + MemoryOperationLayout.ADDRESS), wide ? Long.BYTES : Integer.BYTES)) {
          return CudaResult.INVALID_VALUE;
        }
        Memory.putLong(
            to + MemoryOperationLayout.ADDRESS, from.u64(at + MemoryOperationLayout.ADDRESS));
        Memory.putLong(
            to + MemoryOperationLayout.VALUE, from.u64(at + MemoryOperationLayout.VALUE));
        Memory.putInt(to + MemoryOperationLayout.FLAGS, from.i32(at + MemoryOperationLayout.FLAGS));
      }
      case MemoryOperationType.BARRIER, MemoryOperationType.FLUSH_REMOTE_WRITES ->
          Memory.putInt(
              to + MemoryOperationLayout.BARRIER_FLAGS,
              from.i32(at + MemoryOperationLayout.BARRIER_FLAGS));
      default -> {
        return CudaResult.INVALID_VALUE;
      }
    }
    return CudaResult.SUCCESS;
  }
}
