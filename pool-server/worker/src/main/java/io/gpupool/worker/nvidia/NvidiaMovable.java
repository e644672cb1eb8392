// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.nvidia;

import io.gpupool.cuda.CudaResult;
import io.gpupool.worker.nvidia.memory.MovableMemory;
import io.gpupool.worker.os.Memory;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/**
 * The memory of a session that may move: its allocations are served at addresses that the session
 * can have in another process, too. A driver's own allocations have addresses of its choice.
 */
abstract class NvidiaMovable extends NvidiaContexts {
  private static final int PITCH_BYTES = 512;

  private final LiveContexts contexts = new LiveContexts();
  private final StreamOrderedFrees frees = new StreamOrderedFrees(this);
  private final List<StagingArea> areas = new CopyOnWriteArrayList<>();

  /** Null: the driver chooses all addresses. */
  private volatile @Nullable MovableMemory memory;

  private volatile String obstacle = "no memory at addresses of its own";

  NvidiaMovable(String libnvml, long contextBytes, GpuGate.Limits limits) {
    super(libnvml, contextBytes, limits);
  }

  LiveContexts contexts() {
    return contexts;
  }

  /** Serves allocations of the session's GPU at addresses of the session's own from now on. */
  final void place(List<Integer> gpus) {
    if (gpus.size() != 1) {
      obstacle = "several GPUs";
      return;
    }
    int gpu = gpus.getFirst();
    DriverBlocks blocks = new DriverBlocks(this, gpu);
    Optional<String> problem = blocks.reserve();
    if (problem.isPresent()) {
      obstacle = problem.get();
    } else {
      memory = new MovableMemory(gpu, blocks, new DriverVariables(this, gpu));
    }
  }

  /** Returns the memory that can move; null: none can. */
  final @Nullable MovableMemory movable() {
    MovableMemory mine = memory;
    if (mine != null) {
      frees.look(mine::free);
    }
    return mine;
  }

  /** Returns what keeps the session from moving where no memory of it can. */
  final String obstacle() {
    return obstacle;
  }

  /** Copies behind no other work, and not in the lease's time slice. */
  final int copyToHost(long host, long device, long bytes, long stream) {
    return super.cuMemcpyDtoHAsync_v2(host, device, bytes, stream);
  }

  /** Copies behind no other work, and not in the lease's time slice. */
  final int copyToDevice(long device, long host, long bytes, long stream) {
    return super.cuMemcpyHtoDAsync_v2(device, host, bytes, stream);
  }

  /** Maps a block of the session's own memory. */
  final int mapBlock(long address, long bytes, long handle) {
    return super.cuMemMap(address, bytes, 0, handle, 0);
  }

  /** Gives a GPU access to a block of the session's own memory. */
  final int allowBlock(long address, long bytes, long description) {
    return super.cuMemSetAccess(address, bytes, description, 1);
  }

  /** Unmaps a block of the session's own memory. */
  final int unmapBlock(long address, long bytes) {
    return super.cuMemUnmap(address, bytes);
  }

  final void opened(StagingArea area) {
    areas.add(area);
  }

  final void closed(StagingArea area) {
    areas.remove(area);
  }

  @Override
  public long usedMemoryBytes(int gpu) {
    long used = super.usedMemoryBytes(gpu);
    MovableMemory mine = memory;
    return used <= 0 || mine == null ? used : used - mine.stagedBytes();
  }

  // Contexts, with which memory ends

  @Override
  public int cuDevicePrimaryCtxRetain(long pctx, int dev) {
    int result = super.cuDevicePrimaryCtxRetain(pctx, dev);
    if (result == 0) {
      contexts.retained(Memory.getLong(pctx), dev);
    }
    return result;
  }

  @Override
  public int cuCtxCreate_v2(long pctx, int flags, int dev) {
    int result = super.cuCtxCreate_v2(pctx, flags, dev);
    if (result == 0) {
      contexts.created(Memory.getLong(pctx), dev);
    }
    return result;
  }

  /** The end of a context by the driver; a CUresult. */
  private interface End {
    int call();
  }

  /**
   * Ends a context, with its memory.
   *
   * @param context 0: none ends
   */
  private int end(long context, End end) {
    MovableMemory mine = memory;
    if (mine == null || context == 0) {
      return end.call();
    }
    frees.contextEnded(context);
    synchronized (mine) {
      areas.forEach(area -> area.contextEnds(context));
      int result = end.call();
      mine.contextEnded(context);
      return result;
    }
  }

  @Override
  public int cuCtxDestroy_v2(long ctx) {
    contexts.ended(ctx);
    return end(ctx, () -> super.cuCtxDestroy_v2(ctx));
  }

  @Override
  public int cuDevicePrimaryCtxReset_v2(int dev) {
    return end(contexts.primary(dev).orElse(0), () -> super.cuDevicePrimaryCtxReset_v2(dev));
  }

  @Override
  public int cuDevicePrimaryCtxRelease_v2(int dev) {
    return end(contexts.release(dev).orElse(0), () -> super.cuDevicePrimaryCtxRelease_v2(dev));
  }

  // Allocations

  @Override
  public int cuMemAlloc_v2(long dptr, long bytesize) {
    MovableMemory mine = movable();
    if (mine == null || currentContext() == 0 || bytesize <= 0) {
      return super.cuMemAlloc_v2(dptr, bytesize);
    }
    // Of a context that has failed, as it answers itself.
    int state = super.cuStreamQuery(0);
    return state != 0 && state != CudaResult.NOT_READY
        ? state
        : mine.allocate(dptr, bytesize, contexts.home(currentContext(), mine.gpu()));
  }

  @Override
  public int cuMemAllocPitch_v2(
      long dptr, long pPitch, long WidthInBytes, long Height, int ElementSizeBytes) {
    if (movable() == null || WidthInBytes <= 0 || Height <= 0) {
      return super.cuMemAllocPitch_v2(dptr, pPitch, WidthInBytes, Height, ElementSizeBytes);
    }
    long pitch = (WidthInBytes + PITCH_BYTES - 1) / PITCH_BYTES * PITCH_BYTES;
    Memory.putLong(pPitch, pitch);
    return cuMemAlloc_v2(dptr, pitch * Height);
  }

  /** Waits for all work, as the driver does. */
  @Override
  public int cuMemFree_v2(long dptr) {
    MovableMemory mine = movable();
    OptionalLong owner = mine == null ? OptionalLong.empty() : mine.owner(dptr);
    if (mine == null || owner.isEmpty()) {
      return super.cuMemFree_v2(dptr);
    }
    int result = super.cuCtxSynchronize();
    long before = currentContext();
    if (result == 0 && owner.getAsLong() != before) {
      int selected = cuCtxSetCurrent(owner.getAsLong());
      result = selected == 0 ? super.cuCtxSynchronize() : selected;
      int ignored = cuCtxSetCurrent(before);
    }
    if (result == 0) {
      mine.free(dptr);
    }
    return result;
  }

  @Override
  public int cuMemFreeAsync(long dptr, long hStream) {
    MovableMemory mine = movable();
    return mine == null || mine.owner(dptr).isEmpty()
        ? super.cuMemFreeAsync(dptr, hStream)
        : frees.add(dptr, hStream);
  }

  // What programs map by themselves

  @Override
  public int cuMemAddressReserve(long ptr, long size, long alignment, long addr, long flags) {
    MovableMemory mine = memory;
    boolean sound =
        size > 0
            && size % MovableMemory.BLOCK_BYTES == 0
            && alignment >= 0
            && Long.bitCount(alignment) <= 1
            && flags == 0;
    if (mine == null || !sound) {
      return super.cuMemAddressReserve(ptr, size, alignment, addr, flags);
    }
    long wanted = mine.plannedReservation().orElse(addr);
    if (wanted == 0) {
      OptionalLong address = mine.reserve(size, alignment);
      if (address.isPresent()) {
        Memory.putLong(ptr, address.getAsLong());
        return 0;
      }
    } else if (mine.reserveAt(wanted, size)) {
      Memory.putLong(ptr, wanted);
      return 0;
    }
    int result = super.cuMemAddressReserve(ptr, size, alignment, wanted, flags);
    if (result == 0) {
      mine.reservedElsewhere(Memory.getLong(ptr));
    }
    return result;
  }

  @Override
  public int cuMemAddressFree(long ptr, long size) {
    MovableMemory mine = memory;
    return mine != null && mine.freeReserved(ptr, size) ? 0 : super.cuMemAddressFree(ptr, size);
  }
}
