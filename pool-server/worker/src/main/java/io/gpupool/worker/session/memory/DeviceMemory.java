// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.memory;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.BackendTraits;
import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.MemoryOps;
import io.gpupool.cuda.SessionServices;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.session.call.CurrentCall;
import io.gpupool.worker.session.call.StreamFrees;
import io.gpupool.worker.session.core.HandleTables;
import io.gpupool.worker.session.quota.MemoryCredit;
import io.gpupool.worker.session.quota.MemoryQuota;
import io.gpupool.worker.session.stream.BlockingCalls;
import java.util.function.IntSupplier;
import java.util.function.LongPredicate;

/** The device memory that the session allocates and frees. Used by the session's thread alone. */
public final class DeviceMemory implements MemoryOps {
  /** A driver's smallest unit of memory; smaller allocations count as much. */
  private static final long GRANULE_BYTES = Backend.MIN_BLOCK_BYTES;

  private static final int ADDRESS_BYTES = 8;

  private final Backend backend;
  private final CurrentCall call;
  private final HandleTables handles;
  private final MemoryQuota quota;
  private final StreamFrees frees;
  private final BlockingCalls blocking;
  private final MemoryPools pools;
  private final Allocations allocations;

  /** Starts with no memory. */
  public DeviceMemory(
      Backend backend,
      CurrentCall call,
      HandleTables handles,
      MemoryQuota quota,
      StreamFrees frees,
      BlockingCalls blocking,
      MemoryPools pools,
      Allocations allocations) {
    this.backend = backend;
    this.call = call;
    this.handles = handles;
    this.quota = quota;
    this.frees = frees;
    this.blocking = blocking;
    this.pools = pools;
    this.allocations = allocations;
  }

  @Override
  public void memGetInfo(int tag, boolean freeWanted, boolean totalWanted) {
    if (!call.context().exists()) {
      call.reply(tag, CudaResult.INVALID_CONTEXT);
      return;
    }
    allocations.endReleased();
    long out = call.out();
    int gpu = call.context().gpu;
    quota.noticeFrees();
    pools.memory(gpu).settle();
    boolean ignored = quota.measure(gpu);
    int length = 0;
    if (freeWanted) {
      Memory.putLong(out, Math.min(quota.freeBytes(gpu), cardFreeBytes()));
      length = 8;
    }
    if (totalWanted) {
      Memory.putLong(out + length, quota.quotaBytes(gpu));
      length += 8;
    }
    call.reply(tag, 0, out, length);
  }

  /** Returns the free bytes of the current GPU for all its leases, if its driver knows them. */
  private long cardFreeBytes() {
    long out = call.in();
    return backend.isSharedCard() && backend.cuMemGetInfo_v2(out, out + 8) == 0
        ? Memory.getLong(out)
        : Long.MAX_VALUE;
  }

  @Override
  public void memAlloc(int tag, long lengthBytes, boolean addressWanted) {
    long counted = counted(lengthBytes);
    int refused = reserve(counted, inBlocks());
    if (refused != 0) {
      call.reply(tag, refused);
      return;
    }
    long out = call.out();
    int result = allocate(() -> backend.cuMemAlloc_v2(out, lengthBytes));
    finish(tag, result, out, ADDRESS_BYTES, ofCurrentContext(counted));
  }

  /** A card may lack memory that pools keep: what the lease may have it shall have. */
  private int allocate(IntSupplier allocating) {
    int result = blocking.call(allocating);
    return result == CudaResult.OUT_OF_MEMORY && quota.reclaim(call.context().gpu)
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
      call.reply(tag, CudaResult.INVALID_VALUE);
      return;
    }
    long counted = pitch * height;
    int refused = reserve(counted, inBlocks());
    if (refused != 0) {
      call.reply(tag, refused);
      return;
    }
    long out = call.out();
    int result =
        allocate(() -> backend.cuMemAllocPitch_v2(out, out + 8, widthBytes, height, elementBytes));
    finish(tag, result, out, 16, ofCurrentContext(counted));
  }

  @Override
  public void memAllocAsync(
      int tag, long lengthBytes, int pool, int stream, boolean addressWanted) {
    long streamHandle = call.isRestoring() ? 0 : handles.stream(stream);
    long poolHandle = pool == 0 ? 0 : pools.handle(pool);
    int gpu = pools.gpu(pool);
    if (streamHandle == SessionServices.NO_HANDLE || poolHandle == SessionServices.NO_HANDLE) {
      call.reply(tag, CudaResult.INVALID_HANDLE);
      return;
    }
    long counted = counted(lengthBytes);
    int refused = reserve(counted, bytes -> pools.memory(gpu).reserve(bytes));
    if (refused != 0) {
      call.reply(tag, refused);
      return;
    }
    long out = call.out();
    int result =
        poolHandle == 0
            ? backend.cuMemAllocAsync(out, lengthBytes, streamHandle)
            : backend.cuMemAllocFromPoolAsync(out, lengthBytes, poolHandle, streamHandle);
    if (result == 0 && !pools.memory(gpu).settleUp()) {
      // The pool had to take more than it was asked for.
      backend.cuMemFreeAsync(Memory.getLong(out), streamHandle);
      result = CudaResult.OUT_OF_MEMORY;
    }
    finish(tag, result, out, ADDRESS_BYTES, new Allocations.Allocation(null, gpu, counted));
  }

  @Override
  public void memCredit(
      int tag, int device, long lengthBytes, boolean addressWanted, boolean creditBytesWanted) {
    if (!isCurrent(device)) {
      call.reply(tag, CudaResult.INVALID_CONTEXT);
      return;
    }
    allocations.endReleased();
    quota.noticeFrees();
    MemoryCredit credit = quota.credit();
    credit.end(device);
    long wanted = Math.min(lengthBytes, credit.grantableBytes(device)) & -GRANULE_BYTES;
    BackendTraits.AddressRange range =
        wanted > 0 && allocations.hasRoomFor(wanted)
            ? backend.freeRange(wanted)
            : BackendTraits.AddressRange.NONE;
    boolean granted = credit.grant(device, range.address(), range.lengthBytes());
    long out = call.out();
    Memory.putLong(out, range.address());
    Memory.putLong(out + 8, granted ? range.lengthBytes() : 0);
    call.reply(tag, 0, out, 16);
  }

  @Override
  public int memAllocAt(int device, long address, long lengthBytes) {
    long counted = counted(lengthBytes);
    if (call.isRestoring()) {
      // It was paid for when it came.
      return quota.reserveBlock(device, counted)
          ? allocateAt(device, address, lengthBytes, counted)
          : CudaResult.OUT_OF_MEMORY;
    }
    if (!quota.credit().pay(device, address, counted)) {
      return call.malformed(
          "no credit for %s bytes at 0x%x of GPU %d"
              .formatted(Long.toUnsignedString(lengthBytes), address, device));
    }
    quota.countPaidBlock(device, counted);
    return allocateAt(device, address, lengthBytes, counted);
  }

  private int allocateAt(int device, long address, long lengthBytes, long counted) {
    int result =
        isCurrent(device) ? backend.allocateAt(address, lengthBytes) : CudaResult.INVALID_CONTEXT;
    if (result == 0) {
      allocations.add(address, ofCurrentContext(counted));
    } else {
      quota.releaseBlock(device, counted);
    }
    return result;
  }

  @Override
  public int memCreditEnd(int device) {
    if (device < 0 || device >= quota.gpus()) {
      return CudaResult.INVALID_DEVICE;
    }
    quota.credit().end(device);
    return 0;
  }

  private boolean isCurrent(int device) {
    return call.context().exists() && call.context().gpu == device;
  }

  @Override
  public int memFree(long address) {
    if (address == 0) {
      return CudaResult.SUCCESS;
    }
    return allocations.free(
        address, () -> blocking.call(() -> backend.cuMemFree_v2(address)), backend::afterWork);
  }

  @Override
  public int memFreeAsync(long address, int stream) {
    long streamHandle = handles.stream(stream);
    if (streamHandle == SessionServices.NO_HANDLE) {
      return CudaResult.INVALID_HANDLE;
    }
    return allocations.free(
        address,
        () -> backend.cuMemFreeAsync(address, streamHandle),
        gone -> frees.whenDone(stream, gone));
  }

  /** Returns the bytes that an allocation of a length counts; negative if it is no length. */
  private static long counted(long lengthBytes) {
    return lengthBytes < 0 || lengthBytes > Long.MAX_VALUE - GRANULE_BYTES
        ? -1
        : (lengthBytes + GRANULE_BYTES - 1) & -GRANULE_BYTES;
  }

  private LongPredicate inBlocks() {
    int gpu = call.context().gpu;
    return bytes -> quota.reserveBlock(gpu, bytes);
  }

  private Allocations.Allocation ofCurrentContext(long counted) {
    return new Allocations.Allocation(call.context().home, call.context().gpu, counted);
  }

  private int reserve(long counted, LongPredicate reserving) {
    return call.context().exists()
        ? allocations.reserve(counted, reserving)
        : CudaResult.INVALID_CONTEXT;
  }

  private void finish(
      int tag, int result, long out, int outBytes, Allocations.Allocation allocation) {
    allocations.add(result, out, allocation);
    call.reply(tag, result, out, outBytes);
  }
}
