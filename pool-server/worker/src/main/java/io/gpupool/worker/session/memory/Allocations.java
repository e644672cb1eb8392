// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.memory;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.CudaResult;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.session.core.ContextState;
import io.gpupool.worker.session.exchange.Exchange;
import io.gpupool.worker.session.exchange.Exports;
import io.gpupool.worker.session.quota.MemoryQuota;
import io.gpupool.worker.session.quota.OwnedMemory;
import io.gpupool.worker.session.stream.BlockingCalls;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.IntSupplier;
import java.util.function.LongPredicate;
import org.jspecify.annotations.Nullable;

/**
 * The allocations of a session by address, each counted in the lease's ledger until its memory is
 * gone. Used by the session's thread alone.
 */
public final class Allocations {
  private static final int MAX_ALLOCATIONS = 1 << 20;

  private final Backend backend;
  private final MemoryQuota quota;
  private final OwnedMemory owned;
  private final Exports exports;
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
  record Allocation(@Nullable ContextState context, int gpu, long lengthBytes) {
    Exchange.Kind kind() {
      return context == null ? Exchange.Kind.POINTER : Exchange.Kind.MEMORY;
    }
  }

  /** Starts with none. */
  public Allocations(
      Backend backend,
      MemoryQuota quota,
      OwnedMemory owned,
      Exports exports,
      BlockingCalls blocking,
      MemoryPools pools) {
    this.backend = backend;
    this.quota = quota;
    this.owned = owned;
    this.exports = exports;
    this.blocking = blocking;
    this.pools = pools;
  }

  /** Ends what other sessions have given back. */
  void endReleased() {
    exports.endReleased();
  }

  /** Counts memory; returns a CUresult. */
  int reserve(long counted, LongPredicate reserving) {
    exports.endReleased();
    if (counted < 0 || allocations.size() >= MAX_ALLOCATIONS) {
      return CudaResult.OUT_OF_MEMORY;
    }
    return reserving.test(counted) ? 0 : CudaResult.OUT_OF_MEMORY;
  }

  /**
   * Returns whether a program may have so many bytes of small allocations beside those there are.
   */
  boolean hasRoomFor(long smallBytes) {
    return allocations.size() + smallBytes / Backend.MIN_BLOCK_BYTES <= MAX_ALLOCATIONS;
  }

  /** Keeps an allocation that was made. */
  void add(long address, Allocation allocation) {
    allocations.put(address, allocation);
    owned.add(address, allocation.lengthBytes);
  }

  /** Keeps an allocation that was made, or gives back what was counted for it. */
  void add(int result, long out, Allocation allocation) {
    if (result == 0) {
      add(Memory.getLong(out), allocation);
    } else {
      uncount(allocation);
    }
  }

  /** The bytes charged for an allocation that can be shared in this way; 0 if there is none. */
  long shareableBytes(Exchange.Kind kind, long address) {
    Allocation allocation = allocations.get(address);
    return allocation != null && allocation.kind() == kind && !kept.contains(address)
        ? allocation.lengthBytes
        : 0;
  }

  /** The GPU of an allocation. */
  int gpu(long address) {
    return Objects.requireNonNull(allocations.get(address)).gpu;
  }

  /**
   * Frees an allocation, or keeps it for the session that it is shared with.
   *
   * @param afterwards runs an action, in any thread, when the memory is gone
   */
  int free(long address, IntSupplier freeing, Consumer<Runnable> afterwards) {
    exports.endReleased();
    Allocation allocation = allocations.get(address);
    if (allocation == null || kept.contains(address)) {
      return CudaResult.INVALID_VALUE;
    }
    owned.remove(address);
    if (!exports.withdraw(allocation.kind(), address, () -> freeKept(address))) {
      kept.add(address);
      return CudaResult.SUCCESS;
    }
    int result = freeing.getAsInt();
    if (result != 0) {
      owned.add(address, allocation.lengthBytes);
    }
    return forget(address, result, afterwards);
  }

  private void freeKept(long address) {
    if (kept.remove(address)) {
      int ignored =
          forget(address, blocking.call(() -> backend.cuMemFree_v2(address)), backend::afterWork);
    }
  }

  /** The memory of a context went with it. */
  public void forget(ContextState context) {
    for (var all = allocations.entrySet().iterator(); all.hasNext(); ) {
      Map.Entry<Long, Allocation> entry = all.next();
      long address = entry.getKey();
      Allocation allocation = entry.getValue();
      if (allocation.context == context) {
        owned.remove(address);
        exports.withdraw(allocation.kind(), address, () -> {});
        kept.remove(address);
        leave(allocation, backend::afterWork);
        all.remove();
      }
    }
  }

  private int forget(long address, int result, Consumer<Runnable> afterwards) {
    if (result == 0) {
      leave(Objects.requireNonNull(allocations.remove(address)), afterwards);
    }
    return result;
  }

  /** Memory is freed; it is gone when what has to happen before that has happened. */
  private void leave(Allocation allocation, Consumer<Runnable> afterwards) {
    quota.leave(allocation.gpu, allocation.lengthBytes, afterwards, () -> uncount(allocation));
  }

  private void uncount(Allocation allocation) {
    if (allocation.context == null) {
      pools.memory(allocation.gpu).gone(allocation.lengthBytes);
    } else {
      quota.releaseBlock(allocation.gpu, allocation.lengthBytes);
    }
  }
}
