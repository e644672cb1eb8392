// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.stream;

import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.WireStruct;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.session.quota.OwnedMemory;

/**
 * The backend's CUstreamBatchMemOpParams of those that came: 48 bytes each, whose words are the
 * session's.
 *
 * <pre>
 * wait, write: 0 u32 operation   8 u64 address   16 u64 value   24 u32 flags   32 u64 alias (the driver's)
 * barrier:     0 u32 operation   4 u32 flags
 * flush:       0 u32 operation   4 u32 flags
 * </pre>
 */
final class MemoryOperations {
  static final int BYTES = 48;

  private static final int WAIT_32 = 1;
  private static final int WRITE_32 = 2;
  private static final int FLUSH_REMOTE_WRITES = 3;
  private static final int WAIT_64 = 4;
  private static final int WRITE_64 = 5;
  private static final int BARRIER = 6;

  private MemoryOperations() {}

  /** Writes operation {@code index} for the backend; returns a CUresult. */
  static int write(OwnedMemory owned, WireStruct from, int index, long to) {
    long at = (long) BYTES * index;
    Memory.clear(to, BYTES);
    int operation = from.i32(at);
    Memory.putInt(to, operation);
    switch (operation) {
      case WAIT_32, WRITE_32, WAIT_64, WRITE_64 -> {
        boolean wide = operation == WAIT_64 || operation == WRITE_64;
        if (!owned.owns(from.u64(at + 8), wide ? Long.BYTES : Integer.BYTES)) {
          return CudaResult.INVALID_VALUE;
        }
        Memory.putLong(to + 8, from.u64(at + 8));
        Memory.putLong(to + 16, from.u64(at + 16));
        Memory.putInt(to + 24, from.i32(at + 24));
      }
      case BARRIER, FLUSH_REMOTE_WRITES -> Memory.putInt(to + 4, from.i32(at + 4));
      default -> {
        return CudaResult.INVALID_VALUE;
      }
    }
    return CudaResult.SUCCESS;
  }
}
