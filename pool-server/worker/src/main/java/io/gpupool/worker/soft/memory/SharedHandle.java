// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.memory;

import io.gpupool.soft.memory.SharedPiece;
import io.gpupool.worker.os.Memory;

/**
 * The content of the 64-byte handles by which CUDA processes share memory and events.
 *
 * <pre>
 *   0: i32 descriptor | 4: i32 0 | 8: u64 offset | 16: u64 mapped bytes | 24: u64 inner bytes | 32: u64 bytes
 * </pre>
 *
 * Of an event there is the descriptor alone.
 */
public final class SharedHandle {
  private SharedHandle() {}

  public static int descriptor(long handle) {
    return Memory.getInt(handle);
  }

  public static void setDescriptor(long handle, int descriptor) {
    Memory.putInt(handle, descriptor);
  }

  static void write(long handle, SharedPiece piece) {
    setDescriptor(handle, piece.descriptor());
    Memory.putLong(handle + 8, piece.offset());
    Memory.putLong(handle + 16, piece.mappedBytes());
    Memory.putLong(handle + 24, piece.innerBytes());
    Memory.putLong(handle + 32, piece.lengthBytes());
  }

  static SharedPiece read(long handle) {
    return new SharedPiece(
        descriptor(handle),
        Memory.getLong(handle + 8),
        Memory.getLong(handle + 16),
        Memory.getLong(handle + 24),
        Memory.getLong(handle + 32));
  }
}
