// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.texture;

import io.gpupool.cuda.ArrayOps;
import io.gpupool.cuda.Backend;
import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.SessionServices;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.session.call.CurrentCall;
import io.gpupool.worker.session.core.ContextState;
import io.gpupool.worker.session.core.HandleTable;
import io.gpupool.worker.session.core.HandleTables;
import io.gpupool.worker.session.quota.MemoryQuota;
import io.gpupool.worker.session.stream.BlockingCalls;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;

/**
 * Arrays and mipmapped arrays of the session, counted in the lease's ledger before they are made.
 * Used by the session's thread alone.
 */
public final class CudaArrays implements ArrayOps {
  /** A driver's smallest unit of memory. */
  private static final long GRANULE_BYTES = 512;

  private static final int LAYERED = 0x01;
  private static final int CUBEMAP = 0x04;
  private static final long MAX_EXTENT = 1 << 20;
  private static final int MAX_CHANNELS = 4;
  private static final int MAX_LEVELS = 32;

  private final Backend backend;
  private final CurrentCall call;
  private final HandleTables handles;
  private final MemoryQuota quota;
  private final BlockingCalls blocking;

  /** By the client's number of the array, and by that of the mipmapped array. */
  private final Map<Integer, Counted> arrays = new HashMap<>();

  private final Map<Integer, Counted> mipmaps = new HashMap<>();

  private record Counted(ContextState context, long lengthBytes) {}

  public CudaArrays(
      Backend backend,
      CurrentCall call,
      HandleTables handles,
      MemoryQuota quota,
      BlockingCalls blocking) {
    this.backend = backend;
    this.call = call;
    this.handles = handles;
    this.quota = quota;
    this.blocking = blocking;
  }

  /** CUDA_ARRAY3D_DESCRIPTOR. */
  record Descriptor(long width, long height, long depth, int format, int channels, int flags) {
    private long write(long to) {
      Memory.putLong(to, width);
      Memory.putLong(to + 8, height);
      Memory.putLong(to + 16, depth);
      Memory.putInt(to + 24, format);
      Memory.putInt(to + 28, channels);
      Memory.putInt(to + 32, flags);
      return to;
    }

    /** Returns its bytes; negative if it cannot be. */
    private long lengthBytes(int levels) {
      if (!isExtent(width) || !isExtent(height) || !isExtent(depth)) {
        return -1;
      }
      if (channels < 0 || channels > MAX_CHANNELS || levels < 1 || levels > MAX_LEVELS) {
        return -1;
      }
      boolean layers = (flags & (LAYERED | CUBEMAP)) != 0;
      long sum = 0;
      for (int level = 0; level < levels; level++) {
        long slices = Math.max(1, layers ? depth : depth >> level);
        long rows = slices * Math.max(1, height >> level);
        sum += rows * Math.max(1, width >> level) * elementBytes();
      }
      return (sum + GRANULE_BYTES - 1) & -GRANULE_BYTES;
    }

    private static boolean isExtent(long extent) {
      return extent >= 0 && extent <= MAX_EXTENT;
    }

    private int elementBytes() {
      return switch (format) {
        case 1, 8 -> channels;
        case 2, 9, 0x10 -> 2 * channels;
        // The others take this much or less.
        default -> 4 * channels;
      };
    }
  }

  @Override
  public void arrayCreate(
      int tag,
      int array,
      long width,
      long height,
      long depth,
      int format,
      int channels,
      int flags) {
    create(
        tag,
        new Place(handles.arrays(), arrays, array),
        new Descriptor(width, height, depth, format, channels, flags),
        1,
        backend::cuArray3DCreate_v2);
  }

  @Override
  public int arrayDestroy(int array) {
    Counted counted = arrays.get(array);
    if (counted == null) {
      return CudaResult.INVALID_HANDLE;
    }
    long handle = handles.arrays().get(array);
    int result = blocking.call(() -> backend.cuArrayDestroy(handle));
    handles.arrays().remove(array);
    arrays.remove(array);
    release(counted);
    return result;
  }

  @Override
  public void arrayGetMemory(
      int tag, int array, boolean lengthBytesWanted, boolean alignmentBytesWanted) {
    getMemory(tag, handles.arrays().get(array), backend::cuArrayGetMemoryRequirements);
  }

  @Override
  public void mipmapCreate(
      int tag,
      int mipmap,
      long width,
      long height,
      long depth,
      int format,
      int channels,
      int flags,
      int levels) {
    create(
        tag,
        new Place(handles.mipmaps(), mipmaps, mipmap),
        new Descriptor(width, height, depth, format, channels, flags),
        levels,
        (out, in) -> backend.cuMipmappedArrayCreate(out, in, levels));
  }

  @Override
  public int mipmapGetLevel(int mipmap, int level, int array) {
    long handle = handles.mipmaps().get(mipmap);
    if (handle == SessionServices.NO_HANDLE) {
      return CudaResult.INVALID_HANDLE;
    }
    int refused = handles.arrays().check(array);
    if (refused != 0) {
      return refused;
    }
    long out = call.out();
    int result = backend.cuMipmappedArrayGetLevel(out, handle, level);
    if (result == 0) {
      handles.arrays().put(array, Memory.getLong(out), Objects.requireNonNull(mipmaps.get(mipmap)));
    }
    return result;
  }

  @Override
  public int mipmapDestroy(int mipmap) {
    Counted counted = mipmaps.get(mipmap);
    if (counted == null) {
      return CudaResult.INVALID_HANDLE;
    }
    long handle = handles.mipmaps().get(mipmap);
    handles.arrays().removeOwnedBy(counted);
    int result = blocking.call(() -> backend.cuMipmappedArrayDestroy(handle));
    handles.mipmaps().remove(mipmap);
    mipmaps.remove(mipmap);
    release(counted);
    return result;
  }

  @Override
  public void mipmapGetMemory(
      int tag, int mipmap, boolean lengthBytesWanted, boolean alignmentBytesWanted) {
    getMemory(tag, handles.mipmaps().get(mipmap), backend::cuMipmappedArrayGetMemoryRequirements);
  }

  /** A query of the backend about the memory behind a handle. */
  private interface Requirements {
    int ask(long out, long handle, int device);
  }

  private void getMemory(int tag, long handle, Requirements requirements) {
    if (handle == SessionServices.NO_HANDLE) {
      call.reply(tag, CudaResult.INVALID_HANDLE);
      return;
    }
    long out = call.out();
    int result = requirements.ask(out, handle, call.context().device);
    call.reply(tag, result, out, 16);
  }

  /** The arrays of a context went with it. */
  public void forget(ContextState context) {
    forget(context, handles.mipmaps(), mipmaps);
    forget(context, handles.arrays(), arrays);
  }

  private void forget(ContextState context, HandleTable table, Map<Integer, Counted> counts) {
    counts
        .values()
        .removeIf(counted -> {
          if (counted.context != context) {
            return false;
          }
          handles.arrays().removeOwnedBy(counted);
          table.removeOwnedBy(counted);
          release(counted);
          return true;
        });
  }

  /** The table in which a new thing gets its number. */
  private record Place(HandleTable table, Map<Integer, Counted> counts, int number) {}

  /** A call of the backend that makes a thing of a descriptor. */
  private interface Creation {
    int create(long out, long descriptor);
  }

  /** Counts what is to be made and makes it, or answers why it cannot be. */
  private void create(int tag, Place place, Descriptor descriptor, int levels, Creation creation) {
    ContextState context = call.context();
    long lengthBytes = descriptor.lengthBytes(levels);
    int refused = context.exists() ? place.table.check(place.number) : CudaResult.INVALID_CONTEXT;
    if (refused == 0 && lengthBytes < 0) {
      refused = CudaResult.INVALID_VALUE;
    }
    if (refused == 0 && !quota.reserveBlock(context.gpu, lengthBytes)) {
      refused = CudaResult.OUT_OF_MEMORY;
    }
    if (refused != 0) {
      call.reply(tag, refused);
      return;
    }
    Counted counted = new Counted(context, lengthBytes);
    long out = call.out();
    long in = descriptor.write(call.in());
    int result = blocking.call(() -> creation.create(out, in));
    if (result == 0) {
      place.table.put(place.number, Memory.getLong(out), counted);
      place.counts.put(place.number, counted);
    } else {
      quota.releaseBlock(counted.context.gpu, counted.lengthBytes);
    }
    call.reply(tag, result);
  }

  private void release(Counted counted) {
    quota.releaseBlockAfterWork(counted.context.gpu, counted.lengthBytes);
  }
}
