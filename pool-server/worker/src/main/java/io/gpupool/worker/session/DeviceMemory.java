// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.MemoryOps;
import io.gpupool.cuda.SessionServices;
import io.gpupool.worker.os.Memory;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.IntSupplier;
import java.util.function.LongPredicate;

/**
 * Device memory of the session: every allocation is counted in the lease's ledger before it is
 * made. Used by the session's thread alone.
 */
final class DeviceMemory implements MemoryOps {
  private static final int MAX_ALLOCATIONS = 1 << 20;

  /** What a driver hands out at least; smaller allocations count as much. */
  private static final long GRANULE_BYTES = Backend.MIN_BLOCK_BYTES;

  private static final int ADDRESS_BYTES = 8;

  private final SessionState state;
  private final BlockingCalls blocking;
  private final MemoryPools pools;
  private final Map<Long, Allocation> allocations = new HashMap<>();

  /** Of those, what the program has freed and another session still has. */
  private final Set<Long> kept = new HashSet<>();

  /**
   * Counted memory.
   *
   * @param context it goes down with; null: none, it is the device's pool's
   */
  private record Allocation(ContextState context, int gpu, long lengthBytes) {
    Exchange.Kind kind() {
      return context == null ? Exchange.Kind.POINTER : Exchange.Kind.MEMORY;
    }
  }

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
    state.exports.endReleased();
    long out = state.out();
    int gpu = state.current.gpu;
    if (!state.waits.isEmpty()) {
      // A free that has come to its turn may not have been noticed yet.
      state.waits.poll();
    }
    pools.memory(gpu).settle();
    boolean ignored = state.quota.measure(gpu);
    int length = 0;
    if (freeWanted) {
      Memory.putLong(out, Math.min(state.ledger.freeBytes(gpu), cardFreeBytes()));
      length = 8;
    }
    if (totalWanted) {
      Memory.putLong(out + length, state.ledger.quotaBytes(gpu));
      length += 8;
    }
    state.reply(tag, 0, out, length);
  }

  /** What the current GPU has left for all its leases, if its driver tells. */
  private long cardFreeBytes() {
    long out = state.in();
    return state.backend.isSharedCard() && state.backend.cuMemGetInfo_v2(out, out + 8) == 0
        ? Memory.getLong(out)
        : Long.MAX_VALUE;
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
    int result = allocate(() -> state.backend.cuMemAlloc_v2(out, lengthBytes));
    finish(tag, result, out, ADDRESS_BYTES, ofCurrentContext(counted));
  }

  /** A card may lack memory that pools keep: what the lease may have it shall have. */
  private int allocate(IntSupplier allocating) {
    int result = blocking.call(allocating);
    return result == CudaResult.OUT_OF_MEMORY && state.quota.reclaim(state.current.gpu)
        ? blocking.call(allocating)
        : result;
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
        allocate(
            () -> state.backend.cuMemAllocPitch_v2(out, out + 8, widthBytes, height, elementBytes));
    finish(tag, result, out, 16, ofCurrentContext(counted));
  }

  @Override
  public void memAllocAsync(
      int tag, long lengthBytes, int pool, int stream, boolean addressWanted) {
    long streamHandle = state.stream(stream);
    long poolHandle = pool == 0 ? 0 : pools.handle(pool);
    int gpu = pools.gpu(pool);
    if (streamHandle == SessionServices.NO_HANDLE || poolHandle == SessionServices.NO_HANDLE) {
      state.reply(tag, CudaResult.INVALID_HANDLE);
      return;
    }
    long counted = counted(lengthBytes);
    int refused = reserve(gpu, counted, bytes -> pools.memory(gpu).reserve(bytes));
    if (refused != 0) {
      state.reply(tag, refused);
      return;
    }
    long out = state.out();
    int result =
        poolHandle == 0
            ? state.backend.cuMemAllocAsync(out, lengthBytes, streamHandle)
            : state.backend.cuMemAllocFromPoolAsync(out, lengthBytes, poolHandle, streamHandle);
    if (result == 0 && !pools.memory(gpu).settleUp()) {
      // The pool had to take more than it was asked for.
      state.backend.cuMemFreeAsync(Memory.getLong(out), streamHandle);
      result = CudaResult.OUT_OF_MEMORY;
    }
    finish(tag, result, out, ADDRESS_BYTES, new Allocation(null, gpu, counted));
  }

  @Override
  public int memFree(long address) {
    if (address == 0) {
      return CudaResult.SUCCESS;
    }
    return free(
        address,
        () -> blocking.call(() -> state.backend.cuMemFree_v2(address)),
        state.backend::afterWork);
  }

  @Override
  public int memFreeAsync(long address, int stream) {
    long streamHandle = state.stream(stream);
    if (streamHandle == SessionServices.NO_HANDLE) {
      return CudaResult.INVALID_HANDLE;
    }
    return free(
        address,
        () -> state.backend.cuMemFreeAsync(address, streamHandle),
        gone -> state.frees.whenDone(stream, gone));
  }

  /** What the lease is charged for an allocation that can be shared so; 0 if there is none. */
  long shareableBytes(Exchange.Kind kind, long address) {
    Allocation allocation = allocations.get(address);
    boolean shareable = allocation != null && allocation.kind() == kind && !kept.contains(address);
    return shareable ? allocation.lengthBytes : 0;
  }

  /** Whose memory an allocation is. */
  int gpu(long address) {
    return allocations.get(address).gpu;
  }

  private int free(long address, IntSupplier freeing, Consumer<Runnable> afterwards) {
    state.exports.endReleased();
    Allocation allocation = allocations.get(address);
    if (allocation == null || kept.contains(address)) {
      return CudaResult.INVALID_VALUE;
    }
    state.owned.remove(address);
    if (!state.exports.withdraw(allocation.kind(), address, () -> freeKept(address))) {
      kept.add(address);
      return CudaResult.SUCCESS;
    }
    int result = freeing.getAsInt();
    if (result != 0) {
      state.owned.add(address, allocation.lengthBytes);
    }
    return forget(address, result, afterwards);
  }

  private void freeKept(long address) {
    if (kept.remove(address)) {
      int ignored =
          forget(
              address,
              blocking.call(() -> state.backend.cuMemFree_v2(address)),
              state.backend::afterWork);
    }
  }

  /** The memory of a context went with it. */
  void forget(ContextState context) {
    for (var all = allocations.entrySet().iterator(); all.hasNext(); ) {
      long address = all.next().getKey();
      Allocation allocation = allocations.get(address);
      if (allocation.context == context) {
        state.owned.remove(address);
        state.exports.withdraw(allocation.kind(), address, () -> {});
        kept.remove(address);
        leave(allocation, state.backend::afterWork);
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
    return new Allocation(state.current.home, state.current.gpu, counted);
  }

  private int reserve(int gpu, long counted) {
    return reserve(gpu, counted, bytes -> state.quota.reserveBlock(gpu, bytes));
  }

  private int reserve(int gpu, long counted, LongPredicate reserving) {
    state.exports.endReleased();
    if (!state.current.exists()) {
      return CudaResult.INVALID_CONTEXT;
    }
    if (counted < 0 || allocations.size() >= MAX_ALLOCATIONS) {
      return CudaResult.OUT_OF_MEMORY;
    }
    return reserving.test(counted) ? 0 : CudaResult.OUT_OF_MEMORY;
  }

  private void finish(int tag, int result, long out, int outBytes, Allocation allocation) {
    if (result == 0) {
      allocations.put(Memory.getLong(out), allocation);
      state.owned.add(Memory.getLong(out), allocation.lengthBytes);
    } else {
      uncount(allocation);
    }
    state.reply(tag, result, out, outBytes);
  }

  private int forget(long address, int result, Consumer<Runnable> afterwards) {
    if (result == 0) {
      leave(allocations.remove(address), afterwards);
    }
    return result;
  }

  /** Memory is freed; it is gone when what has to happen before that has happened. */
  private void leave(Allocation allocation, Consumer<Runnable> afterwards) {
    state.quota.leave(
        allocation.gpu, allocation.lengthBytes, afterwards, () -> uncount(allocation));
  }

  private void uncount(Allocation allocation) {
    if (allocation.context == null) {
      pools.memory(allocation.gpu).gone(allocation.lengthBytes);
    } else {
      state.quota.releaseBlock(allocation.gpu, allocation.lengthBytes);
    }
  }
}
