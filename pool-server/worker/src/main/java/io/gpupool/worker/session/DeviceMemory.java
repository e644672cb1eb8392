// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.cuda.MemoryOps;
import io.gpupool.cuda.SessionServices;
import io.gpupool.worker.os.Memory;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;

/**
 * Device memory of the session: every allocation is counted in the lease's ledger before it is
 * made. Used by the session's thread alone.
 */
final class DeviceMemory implements MemoryOps {
  private static final int MAX_ALLOCATIONS = 1 << 20;

  /** What a driver hands out at least; smaller allocations count as much. */
  private static final long GRANULE_BYTES = 512;

  private static final int ADDRESS_BYTES = 8;

  private final SessionState state;
  private final BlockingCalls blocking;
  private final MemoryPools pools;
  private final Map<Long, Allocation> allocations = new HashMap<>();

  /**
   * Counted memory.
   *
   * @param context it goes down with; null: none, it is the device's pool's
   */
  private record Allocation(ContextState context, int gpu, long lengthBytes) {}

  DeviceMemory(SessionState state, BlockingCalls blocking, MemoryPools pools) {
    this.state = state;
    this.blocking = blocking;
    this.pools = pools;
  }

  @Override
  public void memGetInfo(int tag, boolean freeWanted, boolean totalWanted) {
    if (!state.current.exists()) {
      state.reply(tag, CudaResult.INVALID_CONTEXT);
      return;
    }
    long out = state.out();
    int gpu = state.current.gpu;
    int length = 0;
    if (freeWanted) {
      Memory.putLong(out, state.ledger.freeBytes(gpu));
      length = 8;
    }
    if (totalWanted) {
      Memory.putLong(out + length, state.ledger.quotaBytes(gpu));
      length += 8;
    }
    state.reply(tag, 0, out, length);
  }

  @Override
  public void memAlloc(int tag, long lengthBytes, boolean addressWanted) {
    long counted = counted(lengthBytes);
    int refused = reserve(state.current.gpu, counted);
    if (refused != 0) {
      state.reply(tag, refused);
      return;
    }
    long out = state.out();
    int result = blocking.call(() -> state.backend.cuMemAlloc_v2(out, lengthBytes));
    finish(tag, result, out, ADDRESS_BYTES, ofCurrentContext(counted));
  }

  @Override
  public void memAllocPitch(
      int tag,
      long widthBytes,
      long height,
      int elementBytes,
      boolean addressWanted,
      boolean pitchBytesWanted) {
    // The driver chooses the pitch: the nearest multiple of 512 or less on every device so far.
    long pitch = counted(widthBytes);
    if (pitch < 0 || height < 0 || pitch != 0 && height > Long.MAX_VALUE / 2 / pitch) {
      state.reply(tag, CudaResult.INVALID_VALUE);
      return;
    }
    long counted = pitch * height;
    int refused = reserve(state.current.gpu, counted);
    if (refused != 0) {
      state.reply(tag, refused);
      return;
    }
    long out = state.out();
    int result =
        blocking.call(
            () -> state.backend.cuMemAllocPitch_v2(out, out + 8, widthBytes, height, elementBytes));
    finish(tag, result, out, 16, ofCurrentContext(counted));
  }

  @Override
  public void memAllocAsync(
      int tag, long lengthBytes, int pool, int stream, boolean addressWanted) {
    long streamHandle = state.stream(stream);
    long poolHandle = pool == 0 ? 0 : pools.handle(pool);
    if (streamHandle == SessionServices.NO_HANDLE || poolHandle == SessionServices.NO_HANDLE) {
      state.reply(tag, CudaResult.INVALID_HANDLE);
      return;
    }
    long counted = counted(lengthBytes);
    int gpu = pools.gpu(pool);
    int refused = reserve(gpu, counted);
    if (refused != 0) {
      state.reply(tag, refused);
      return;
    }
    long out = state.out();
    int result =
        poolHandle == 0
            ? state.backend.cuMemAllocAsync(out, lengthBytes, streamHandle)
            : state.backend.cuMemAllocFromPoolAsync(out, lengthBytes, poolHandle, streamHandle);
    finish(tag, result, out, ADDRESS_BYTES, new Allocation(null, gpu, counted));
  }

  @Override
  public int memFree(long address) {
    if (address == 0) {
      return CudaResult.SUCCESS;
    }
    if (!allocations.containsKey(address)) {
      return CudaResult.INVALID_VALUE;
    }
    return forget(address, blocking.call(() -> state.backend.cuMemFree_v2(address)));
  }

  @Override
  public int memFreeAsync(long address, int stream) {
    long streamHandle = state.stream(stream);
    if (streamHandle == SessionServices.NO_HANDLE) {
      return CudaResult.INVALID_HANDLE;
    }
    if (!allocations.containsKey(address)) {
      return CudaResult.INVALID_VALUE;
    }
    return forget(address, state.backend.cuMemFreeAsync(address, streamHandle));
  }

  /** The memory of a context went with it. */
  void forget(ContextState context) {
    for (Iterator<Allocation> all = allocations.values().iterator(); all.hasNext(); ) {
      Allocation allocation = all.next();
      if (allocation.context == context) {
        state.ledger.release(allocation.gpu, allocation.lengthBytes);
        all.remove();
      }
    }
  }

  /** What a length counts; negative if it is no length. */
  private static long counted(long lengthBytes) {
    return lengthBytes < 0 || lengthBytes > Long.MAX_VALUE - GRANULE_BYTES
        ? -1
        : (lengthBytes + GRANULE_BYTES - 1) & -GRANULE_BYTES;
  }

  private Allocation ofCurrentContext(long counted) {
    return new Allocation(state.current, state.current.gpu, counted);
  }

  private int reserve(int gpu, long counted) {
    if (!state.current.exists()) {
      return CudaResult.INVALID_CONTEXT;
    }
    if (counted < 0 || allocations.size() >= MAX_ALLOCATIONS) {
      return CudaResult.OUT_OF_MEMORY;
    }
    return state.ledger.reserve(gpu, counted) ? 0 : CudaResult.OUT_OF_MEMORY;
  }

  private void finish(int tag, int result, long out, int outBytes, Allocation allocation) {
    if (result == 0) {
      allocations.put(Memory.getLong(out), allocation);
    } else {
      state.ledger.release(allocation.gpu, allocation.lengthBytes);
    }
    state.reply(tag, result, out, outBytes);
  }

  private int forget(long address, int result) {
    if (result == 0) {
      Allocation allocation = allocations.remove(address);
      state.ledger.release(allocation.gpu, allocation.lengthBytes);
    }
    return result;
  }
}
