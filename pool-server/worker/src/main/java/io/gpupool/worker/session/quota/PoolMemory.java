// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.quota;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.cuda.Backend;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.HashSet;
import java.util.Set;

/**
 * Count of the memory of one GPU's pools: the larger of the bytes allocated from them, until the
 * free has reached its turn in the stream, and the bytes that they hold. A driver's pool may keep
 * freed memory, up to its release threshold. The session's thread allocates; any thread may run the
 * end of a free.
 */
public final class PoolMemory {
  private static final int RESERVED_MEM_CURRENT = 5;

  /** A driver's pool takes its memory in pieces of up to this: what it has more is kept. */
  private static final long PIECE_BYTES = 32L << 20;

  private final Backend backend;
  private final MemoryQuota quota;
  private final int gpu;

  @GuardedBy("this")
  private final Set<Long> pools = new HashSet<>();

  private final MemorySegment out = Arena.ofAuto().allocate(8, 8);

  @GuardedBy("this")
  private long allocatedBytes;

  @GuardedBy("this")
  private long countedBytes;

  public PoolMemory(Backend backend, MemoryQuota quota, int gpu) {
    this.backend = backend;
    this.quota = quota;
    this.gpu = gpu;
  }

  /** A pool of the backend's gives memory of this GPU from now on. */
  public synchronized void add(long pool) {
    pools.add(pool);
  }

  /** A pool is about to be destroyed. */
  public synchronized void remove(long pool) {
    pools.remove(pool);
  }

  /** Counts an allocation that is to be made; false if there is no room. */
  public boolean reserve(long lengthBytes) {
    while (true) {
      long extra;
      synchronized (this) {
        extra = neededBytes(lengthBytes) - countedBytes;
        if (extra <= 0) {
          allocatedBytes += lengthBytes;
          return true;
        }
      }
      // May wait for frees, and have the pools give back what they keep: both take the lock.
      if (!quota.reserve(gpu, extra)) {
        settle();
        return false;
      }
      synchronized (this) {
        countedBytes += extra;
      }
    }
  }

  /** Returns whether what the pools hold after an allocation is within the quota, too. */
  public boolean settleUp() {
    return reserve(0);
  }

  /** Nothing is left of an allocation, or it was not made; any thread. */
  public synchronized void gone(long lengthBytes) {
    allocatedBytes -= lengthBytes;
    settle();
  }

  /** Takes note of what the pools have given back; any thread. */
  public synchronized void settle() {
    long needed = neededBytes(0);
    if (needed < countedBytes) {
      quota.release(gpu, countedBytes - needed);
      countedBytes = needed;
    }
  }

  @GuardedBy("this")
  private long neededBytes(long moreBytes) {
    return Math.max(allocatedBytes + moreBytes, heldBytes());
  }

  @GuardedBy("this")
  private long heldBytes() {
    if (!backend.poolsKeepMemory()) {
      return 0;
    }
    long sum = 0;
    for (long pool : pools) {
      out.set(ValueLayout.JAVA_LONG, 0, 0);
      if (backend.cuMemPoolGetAttribute(pool, RESERVED_MEM_CURRENT, out.address()) == 0) {
        sum += out.get(ValueLayout.JAVA_LONG, 0);
      }
    }
    return Math.max(0, sum - PIECE_BYTES);
  }

  /** Has the pools give back what they keep; false if they keep nothing. */
  public synchronized boolean trim() {
    if (!backend.poolsKeepMemory() || pools.isEmpty()) {
      return false;
    }
    for (long pool : pools) {
      int ignored = backend.cuMemPoolTrimTo(pool, 0);
    }
    settle();
    return true;
  }
}
