// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.quota;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.cuda.Backend;
import java.util.List;
import java.util.stream.LongStream;

/**
 * Memory of the lease's GPUs that a driver takes beyond what the program allocates: contexts, code,
 * local memory, heaps and the rests of blocks. It is measured where the driver tells, and counted
 * against the lease. The session's thread changes it; any thread may measure.
 */
public final class DriverOverhead {
  /** Counted in steps, so that code which is loaded later has room already. */
  private static final long STEP_BYTES = 16L << 20;

  private final Backend backend;
  private final Ledger ledger;
  private final List<LeasedGpu> gpus;

  // By GPU.
  @GuardedBy("this")
  private final long[] countedBytes;

  @GuardedBy("this")
  private final int[] contexts;

  /** With nothing in it yet. */
  public DriverOverhead(Backend backend, Ledger ledger, List<LeasedGpu> gpus) {
    this.backend = backend;
    this.ledger = ledger;
    this.gpus = gpus;
    countedBytes = new long[gpus.size()];
    contexts = new int[gpus.size()];
  }

  /** Returns the counted bytes of a GPU. */
  public synchronized long bytes(int gpu) {
    return countedBytes[gpu];
  }

  /** The same of all GPUs. */
  public synchronized long bytes() {
    return LongStream.of(countedBytes).sum();
  }

  /** Counts a context that is to be made; false if the lease has no room for it. */
  synchronized boolean reserveContext(int gpu) {
    if (!reserve(gpu, backend.contextBytes())) {
      return false;
    }
    contexts[gpu]++;
    return true;
  }

  /** Counts what the driver is about to take; false if the lease has no room for it. */
  synchronized boolean reserve(int gpu, long lengthBytes) {
    boolean reserved = ledger.tryReserve(gpu, lengthBytes);
    if (reserved) {
      countedBytes[gpu] += lengthBytes;
    } else {
      ledger.refuse();
    }
    return reserved;
  }

  /**
   * A context has ended, or was not made.
   *
   * @param isSettled see {@link #measure}
   */
  synchronized void contextEnded(int gpu, boolean isSettled) {
    contexts[gpu]--;
    long used = usedBytes(gpu);
    if (contexts[gpu] == 0 && used <= 0) {
      count(gpu, 0);
    } else if (used <= 0) {
      count(gpu, Math.max(0, countedBytes[gpu] - backend.contextBytes()));
    } else {
      boolean ignored = measure(gpu, isSettled);
    }
  }

  /**
   * Counts what the driver has taken by now, with some room ahead if the lease has it.
   *
   * @param isSettled whether all that is counted as allocated is allocated: if some of it has been
   *     freed already, the rest looks smaller than it is
   * @return whether the lease keeps to its quota
   */
  synchronized boolean measure(int gpu, boolean isSettled) {
    long used = usedBytes(gpu);
    if (contexts[gpu] == 0 || used <= 0) {
      return true;
    }
    long bytes = Math.max(0, used - (ledger.sessionBytes(gpu) - countedBytes[gpu]));
    long withRoom = (bytes / STEP_BYTES + 1) * STEP_BYTES;
    if (bytes > countedBytes[gpu] || isSettled && withRoom < countedBytes[gpu]) {
      count(gpu, bytes);
      if (ledger.tryReserve(gpu, withRoom - bytes)) {
        countedBytes[gpu] = withRoom;
      }
    }
    return !ledger.isExceeded(gpu);
  }

  /** Not positive if the driver does not tell, or does not know this process by its number. */
  private long usedBytes(int gpu) {
    return backend.usedMemoryBytes(gpus.get(gpu).ordinal());
  }

  @GuardedBy("this")
  private void count(int gpu, long bytes) {
    ledger.charge(gpu, bytes - countedBytes[gpu]);
    countedBytes[gpu] = bytes;
  }
}
