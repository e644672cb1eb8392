// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.texture;

import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.SessionServices;
import io.gpupool.cuda.WireStruct;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.session.core.HandleTable;
import io.gpupool.worker.session.core.HandleTables;
import io.gpupool.worker.session.core.RefusedException;
import io.gpupool.worker.session.quota.OwnedMemory;

/**
 * A CUDA_RESOURCE_DESC whose arrays are the backend's and whose memory is the session's.
 *
 * <pre>
 * 0 u32 CUresourcetype   136 u32 flags (0)
 * array, mipmapped array: 8 u64 handle
 * linear:     8 u64 address   16 u32 format   20 u32 channels   24 u64 bytes
 * pitch 2D:   8 u64 address   16 u32 format   20 u32 channels   24 u64 width   32 u64 height   40 u64 pitch
 * </pre>
 *
 * @param at the backend's handle, or the address of memory
 * @param first bytes of linear memory, or the width in elements
 */
record Resource(
    int type, long at, int format, int channels, long first, long height, long pitchBytes) {
  static final int BYTES = 144;
  static final int ARRAY = 0;
  static final int MIPMAPPED_ARRAY = 1;
  static final int LINEAR = 2;
  static final int PITCHED = 3;

  /** CUarray_format of 8 bits, and of 16. */
  private static final int UNSIGNED_8 = 1;

  private static final int SIGNED_8 = 8;
  private static final int UNSIGNED_16 = 2;
  private static final int SIGNED_16 = 9;
  private static final int HALF = 0x10;

  /**
   * Reads one with the client's number in place of a handle.
   *
   * @throws RefusedException with the CUresult of one that the session does not have
   */
  static Resource read(HandleTables handles, OwnedMemory owned, WireStruct from)
      throws RefusedException {
    if (!from.is(BYTES)) {
      throw new RefusedException(CudaResult.INVALID_VALUE);
    }
    Resource read =
        new Resource(
            from.i32(0),
            from.u64(8),
            from.i32(16),
            from.i32(20),
            from.u64(24),
            from.u64(32),
            from.u64(40));
    return switch (read.type) {
      case ARRAY -> ofHandle(read, handles.arrays());
      case MIPMAPPED_ARRAY -> ofHandle(read, handles.mipmaps());
      case LINEAR, PITCHED -> read.requireOwned(owned);
      default -> throw new RefusedException(CudaResult.INVALID_VALUE);
    };
  }

  private static Resource ofHandle(Resource read, HandleTable table) throws RefusedException {
    long number = read.at;
    long handle =
        number >= 0 && number <= Integer.MAX_VALUE
            ? table.get((int) number)
            : SessionServices.NO_HANDLE;
    if (handle == SessionServices.NO_HANDLE) {
      throw new RefusedException(CudaResult.INVALID_HANDLE);
    }
    return new Resource(read.type, handle, 0, 0, 0, 0, 0);
  }

  private Resource requireOwned(OwnedMemory owned) throws RefusedException {
    boolean allowed =
        channels >= 0
            && channels <= 4
            && (type == LINEAR
                ? owned.owns(at, 0, first, 1, 1)
                : owned.owns(at, pitchBytes, first, elementBytes(), height));
    if (!allowed) {
      throw new RefusedException(CudaResult.INVALID_VALUE);
    }
    return this;
  }

  private int elementBytes() {
    int channelBytes =
        switch (format) {
          case UNSIGNED_8, SIGNED_8 -> 1;
          case UNSIGNED_16, SIGNED_16, HALF -> 2;
          default -> 4;
        };
    return Math.max(1, channels) * channelBytes;
  }

  /** Writes it for the backend; gives the address that it is at. */
  long write(long to) {
    Memory.clear(to, BYTES);
    Memory.putInt(to, type);
    Memory.putLong(to + 8, at);
    if (type == LINEAR || type == PITCHED) {
      Memory.putInt(to + 16, format);
      Memory.putInt(to + 20, channels);
      Memory.putLong(to + 24, first);
    }
    if (type == PITCHED) {
      Memory.putLong(to + 32, height);
      Memory.putLong(to + 40, pitchBytes);
    }
    return to;
  }
}
