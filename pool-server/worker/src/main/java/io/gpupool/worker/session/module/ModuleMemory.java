// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.module;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.CudaResult;
import io.gpupool.worker.session.core.ContextState;
import io.gpupool.worker.session.quota.MemoryQuota;
import io.gpupool.worker.session.quota.OwnedMemory;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The memory of one module: its variables and its share of the kernels' heap, counted in the
 * lease's ledger. Used by the session's thread alone.
 */
final class ModuleMemory {
  private final Backend backend;
  private final MemoryQuota quota;
  private final OwnedMemory owned;
  private final int gpu;
  private final boolean countsEach;
  private long countedBytes;

  /** Variables that were counted when they were asked for. */
  private final Set<Long> counted = new HashSet<>();

  /** Variables whose addresses the program knows. */
  private final Set<Long> known = new HashSet<>();

  /**
   * Starts with nothing counted.
   *
   * @param countsEach whether the backend cannot tell of all variables at once
   */
  private ModuleMemory(
      Backend backend, MemoryQuota quota, OwnedMemory owned, int gpu, boolean countsEach) {
    this.backend = backend;
    this.quota = quota;
    this.owned = owned;
    this.gpu = gpu;
    this.countsEach = countsEach;
  }

  /** Counts a module that was loaded; null if the lease has no room for it. */
  static @Nullable ModuleMemory of(
      Backend backend, MemoryQuota quota, OwnedMemory owned, ContextState context, long module) {
    long told = backend.moduleBytes(module);
    ModuleMemory memory = new ModuleMemory(backend, quota, owned, context.gpu, told < 0);
    return memory.count(context, Math.max(0, told)) ? memory : null;
  }

  private boolean count(ContextState context, long bytes) {
    if (!quota.reserve(gpu, bytes)) {
      return false;
    }
    if (!quota.countHeap(context, backend.heapBytes()) || !quota.measure(gpu)) {
      quota.release(gpu, bytes);
      return false;
    }
    countedBytes = bytes;
    return true;
  }

  /** Counts a variable that the program asks for, and lets it name the variable from now on. */
  int addVariable(long address, long lengthBytes) {
    if (countsEach && !counted.contains(address)) {
      if (!quota.reserve(gpu, lengthBytes)) {
        return CudaResult.OUT_OF_MEMORY;
      }
      counted.add(address);
      countedBytes += lengthBytes;
      // It was the driver's until now.
      boolean ignored = quota.measure(gpu);
    }
    if (known.add(address)) {
      owned.add(address, lengthBytes);
    }
    return CudaResult.SUCCESS;
  }

  /** The module is about to go: its variables cannot be named any more. */
  void disown() {
    known.forEach(owned::remove);
  }

  /** The module is gone. */
  void release() {
    disown();
    quota.releaseAfterWork(gpu, countedBytes);
  }
}
