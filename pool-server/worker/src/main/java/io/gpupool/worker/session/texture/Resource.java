// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.texture;

import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.PitchedMemoryLayout;
import io.gpupool.cuda.ResourceLayout;
import io.gpupool.cuda.ResourceType;
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
 * @param at the backend's handle, or the address of memory
 * @param first bytes of linear memory, or the width in elements
 */
record Resource(
    int type, long at, int format, int channels, long first, long height, long pitchBytes) {
  static final int BYTES = ResourceLayout.BYTES;

  private static final int AT = ResourceLayout.RES;
  private static final int FORMAT = AT + PitchedMemoryLayout.FORMAT;
  private static final int CHANNELS = AT + PitchedMemoryLayout.CHANNELS;
  private static final int FIRST = AT + PitchedMemoryLayout.WIDTH;
  private static final int HEIGHT = AT + PitchedMemoryLayout.HEIGHT;
  private static final int PITCH = AT + PitchedMemoryLayout.PITCH_IN_BYTES;

  /** CUarray_format of 8 bits, and of 16. */
  private static final int UNSIGNED_8 = 1;

  private static final int SIGNED_8 = 8;
  private static final int UNSIGNED_16 = 2;
  private static final int SIGNED_16 = 9;
  private static final int HALF = 0x10;

  /**
   * Reads one that has the client's number in place of a handle.
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
            from.i32(ResourceLayout.RES_TYPE),
            from.u64(AT),
            from.i32(FORMAT),
            from.i32(CHANNELS),
            from.u64(FIRST),
            from.u64(HEIGHT),
            from.u64(PITCH));
    return switch (read.type) {
      case ResourceType.ARRAY -> ofHandle(read, handles.arrays());
      case ResourceType.MIPMAPPED_ARRAY -> ofHandle(read, handles.mipmaps());
      case ResourceType.LINEAR, ResourceType.PITCH2D -> read.requireOwned(owned);
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
            && (type == ResourceType.LINEAR
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

  /** Writes it for the backend, and returns its address. */
  long write(long to) {
    Memory.clear(to, BYTES);
    Memory.putInt(to + ResourceLayout.RES_TYPE, type);
    Memory.putLong(to + AT, at);
    if (type == ResourceType.LINEAR || type == ResourceType.PITCH2D) {
      Memory.putInt(to + FORMAT, format);
      Memory.putInt(to + CHANNELS, channels);
      Memory.putLong(to + FIRST, first);
    }
    if (type == ResourceType.PITCH2D) {
      Memory.putLong(to + HEIGHT, height);
      Memory.putLong(to + PITCH, pitchBytes);
    }
    return to;
  }
}
