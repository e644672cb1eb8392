// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.memory;

import io.gpupool.cuda.BackendTraits.AddressRange;
import io.gpupool.cuda.MemoryCalls;
import io.gpupool.soft.device.context.SoftContext;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.soft.state.SoftCalls;
import io.gpupool.worker.soft.state.SoftState;
import io.gpupool.worker.soft.state.Waiting;

/** Driver calls that allocate, free and account for memory. */
public final class SoftMemoryCalls extends SoftCalls implements MemoryCalls {
  public SoftMemoryCalls(SoftState state) {
    super(state);
  }

  @Override
  public int cuMemGetInfo_v2(long free, long total) {
    return call(() -> {
      SoftContext context = context();
      long totalBytes = context.device().totalMemoryBytes();
      Memory.putLong(free, totalBytes - context.device().memory().usedBytes());
      Memory.putLong(total, totalBytes);
    });
  }

  @Override
  public int cuMemAlloc_v2(long address, long bytes) {
    return call(() -> Memory.putLong(address, context().allocate(bytes)));
  }

  /** Free addresses of the current context's device. */
  public AddressRange freeRange(long wantedBytes) {
    return state()
        .currentContext()
        .device()
        .memory()
        .freeRange(wantedBytes)
        .map(range -> new AddressRange(range.address(), range.lengthBytes()))
        .orElse(AddressRange.NONE);
  }

  /** Allocates in the current context at an address of the caller's choice. */
  public int allocateAt(long address, long bytes) {
    return call(() -> context().allocateAt(address, bytes));
  }

  @Override
  public int cuMemAllocPitch_v2(
      long address, long pitch, long widthBytes, long height, int elementBytes) {
    return call(() -> {
      SoftContext.Pitched pitched = context().allocatePitched(widthBytes, height, elementBytes);
      Memory.putLong(address, pitched.address());
      Memory.putLong(pitch, pitched.pitchBytes());
    });
  }

  @Override
  public int cuMemFree_v2(long address) {
    return call(() -> {
      SoftContext context = context();
      if (context.sharedMemory().isAttached(address)) {
        // Kernels may still be at work on it.
        Waiting.await(context.completion());
        context.sharedMemory().detach(address);
      } else if (address != 0) {
        context.free(address);
      }
    });
  }

  @Override
  public int cuMemHostAlloc(long address, long bytes, int flags) {
    return call(() -> Memory.putLong(address, state().hostMemory().allocate(bytes)));
  }

  @Override
  public int cuMemFreeHost(long address) {
    return call(() -> state().hostMemory().free(address));
  }

  /** Any memory is as good as page-locked memory to a GPU in software. */
  @Override
  public int cuMemHostRegister_v2(long address, long bytes, int flags) {
    return 0;
  }

  @Override
  public int cuMemHostUnregister(long address) {
    return 0;
  }

  public boolean isReadable(long address, long lengthBytes) {
    return state().gpu().devices().stream()
        .anyMatch(device ->
            device
                .memory()
                .find(address)
                .filter(allocation -> allocation.contains(address, lengthBytes))
                .isPresent());
  }
}
