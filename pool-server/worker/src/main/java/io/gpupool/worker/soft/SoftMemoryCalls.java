// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft;

import io.gpupool.soft.device.SoftContext;
import io.gpupool.soft.device.SoftPool;
import io.gpupool.soft.device.SoftStream;
import io.gpupool.worker.os.Memory;

/** Driver calls that allocate, free and account for memory. */
interface SoftMemoryCalls extends SoftCalls {
  @Override
  default int cuMemGetInfo_v2(long free, long total) {
    return call(() -> {
      SoftContext context = context();
      long totalBytes = context.device().totalMemoryBytes();
      Memory.putLong(free, totalBytes - context.device().memory().usedBytes());
      Memory.putLong(total, totalBytes);
    });
  }

  @Override
  default int cuMemAlloc_v2(long address, long bytes) {
    return call(() -> Memory.putLong(address, context().allocate(bytes)));
  }

  @Override
  default int cuMemAllocPitch_v2(
      long address, long pitch, long widthBytes, long height, int elementBytes) {
    return call(() -> {
      SoftContext.Pitched pitched = context().allocatePitched(widthBytes, height, elementBytes);
      Memory.putLong(address, pitched.address());
      Memory.putLong(pitch, pitched.pitchBytes());
    });
  }

  @Override
  default int cuMemFree_v2(long address) {
    return call(() -> {
      SoftContext context = context();
      if (context.isAttached(address)) {
        // Kernels may still be at work on it.
        Waiting.await(context.completion());
        context.detach(address);
      } else if (address != 0) {
        context.free(address);
      }
    });
  }

  @Override
  default int cuMemHostAlloc(long address, long bytes, int flags) {
    return call(() -> Memory.putLong(address, state().hostMemory().allocate(bytes)));
  }

  @Override
  default int cuMemFreeHost(long address) {
    return call(() -> state().hostMemory().free(address));
  }

  @Override
  default int cuMemAllocAsync(long address, long bytes, long stream) {
    return call(() -> {
      SoftStream target = stream(stream);
      SoftPool pool = target.context().device().pool();
      Memory.putLong(address, target.allocate(pool, bytes));
    });
  }

  @Override
  default int cuMemAllocFromPoolAsync(long address, long bytes, long pool, long stream) {
    return call(() -> {
      SoftPool source = state().handles().get(pool, SoftPool.class);
      Memory.putLong(address, stream(stream).allocate(source, bytes));
    });
  }

  @Override
  default int cuMemFreeAsync(long address, long stream) {
    return call(() -> {
      SoftStream target = stream(stream);
      if (address != 0) {
        target.free(address);
      }
    });
  }

  @Override
  default void afterWork(Runnable action) {
    state().afterWork(action);
  }

  @Override
  default boolean afterStream(long stream, Runnable action) {
    stream(stream).completion().whenDone(action);
    return true;
  }

  @Override
  default boolean poolsKeepMemory() {
    return false;
  }

  @Override
  default boolean checksAddresses() {
    return true;
  }

  @Override
  default boolean isReadable(long address, long lengthBytes) {
    return state().gpu().devices().stream()
        .anyMatch(device ->
            device
                .memory()
                .find(address)
                .filter(allocation -> allocation.contains(address, lengthBytes))
                .isPresent());
  }

  @Override
  default long sourceReadAtOnceBytes() {
    return Long.MAX_VALUE;
  }
}
