// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.cuda.Backend;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.IntPredicate;

/**
 * The lease's memory as this session uses it. Memory that the program has freed counts until it is
 * gone, for until then kernels can use it. The session's thread reserves; any thread may release.
 */
final class MemoryQuota {
  /*
   * A card's cuMemFree waits for what runs, so that the next allocation has the room. Here it does
   * not: the allocation waits in its place, as long as the device gets on with its work. A stream
   * that waits for a value which nobody writes never gets on; then there is no room.
   */
  private static final long STILL_NANOS = TimeUnit.SECONDS.toNanos(5);

  /** The same when the device has not moved since the last wait that was in vain. */
  private static final long STILL_AGAIN_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

  private static final long MAX_WAIT_NANOS = TimeUnit.MINUTES.toNanos(5);
  private static final long LOOK_MILLIS = 1;
  private static final long NEVER = -1;

  private final Ledger ledger;
  private final Backend backend;
  private final Waits waits;
  private final Answers answers;
  private final Runnable readAhead;

  /** How busy the device had been when a wait was given up; {@link #NEVER}: none was. */
  private long busyInVain = NEVER;

  /** Has caches of a GPU give memory back; false if there is nothing in them. */
  private IntPredicate reclaim = gpu -> false;

  /** By GPU: freed and not gone yet; guarded by this. */
  private final long[] leaving;

  /**
   * Makes the session's view of a ledger.
   *
   * @param readAhead see {@link BlockingCalls}
   */
  MemoryQuota(Ledger ledger, Backend backend, Waits waits, Answers answers, Runnable readAhead) {
    this.ledger = ledger;
    this.backend = backend;
    this.waits = waits;
    this.answers = answers;
    this.readAhead = readAhead;
    leaving = new long[ledger.gpus()];
  }

  /** Sets how memory is had back that is kept for later allocations. */
  void reclaimBy(IntPredicate newReclaim) {
    reclaim = newReclaim;
  }

  /**
   * Counts memory; waits for what is leaving if there is room only then. False if there is none.
   */
  boolean reserve(int gpu, long lengthBytes) {
    if (ledger.tryReserve(gpu, lengthBytes)
        || awaitRoom(gpu, lengthBytes)
        // What was leaving at the first try may have gone before the wait looked at it.
        || ledger.tryReserve(gpu, lengthBytes)
        || reclaim.test(gpu) && ledger.tryReserve(gpu, lengthBytes)) {
      return true;
    }
    ledger.refuse();
    return false;
  }

  /** Takes back what was counted, of memory that is gone. */
  void release(int gpu, long lengthBytes) {
    ledger.release(gpu, lengthBytes);
  }

  /** The same once all that has been submitted to the current context is done. */
  void releaseAfterWork(int gpu, long lengthBytes) {
    leave(gpu, lengthBytes, backend::afterWork, () -> release(gpu, lengthBytes));
  }

  /**
   * Memory is freed and not gone yet; it is still counted.
   *
   * @param afterwards runs an action, in any thread, when the memory is gone
   * @param gone releases the memory, or counts it otherwise
   */
  void leave(int gpu, long lengthBytes, Consumer<Runnable> afterwards, Runnable gone) {
    addLeaving(gpu, lengthBytes);
    afterwards.accept(() -> {
      gone.run();
      addLeaving(gpu, -lengthBytes);
    });
  }

  private synchronized void addLeaving(int gpu, long lengthBytes) {
    leaving[gpu] += lengthBytes;
    notifyAll();
  }

  private boolean awaitRoom(int gpu, long lengthBytes) {
    if (lengthBytes < 0 || !mayFit(gpu, lengthBytes)) {
      return false;
    }
    long begin = System.nanoTime();
    long lastMove = begin;
    long lastBusy = backend.busyNanos();
    long lastLeaving = leaving(gpu);
    long patienceNanos = lastBusy == busyInVain ? STILL_AGAIN_NANOS : STILL_NANOS;
    answers.flush();
    waits.handOver();
    while (!ledger.tryReserve(gpu, lengthBytes)) {
      long now = System.nanoTime();
      long busy = backend.busyNanos();
      long left = leaving(gpu);
      if (busy != lastBusy || left != lastLeaving) {
        lastMove = now;
        lastBusy = busy;
        lastLeaving = left;
        patienceNanos = STILL_NANOS;
      }
      boolean over = now - lastMove > patienceNanos || now - begin > MAX_WAIT_NANOS;
      if (over || !mayFit(gpu, lengthBytes)) {
        busyInVain = over ? lastBusy : NEVER;
        return false;
      }
      pause();
      // Host functions that streams wait for end by frames that are yet to be read.
      readAhead.run();
    }
    return true;
  }

  private synchronized long leaving(int gpu) {
    return leaving[gpu];
  }

  /** Whether there is room once all that is leaving has gone. */
  private synchronized boolean mayFit(int gpu, long lengthBytes) {
    return leaving[gpu] > 0 && lengthBytes - ledger.freeBytes(gpu) <= leaving[gpu];
  }

  private synchronized void pause() {
    try {
      wait(LOOK_MILLIS);
    } catch (InterruptedException e) {
      throw new IllegalStateException("the session's thread was interrupted", e);
    }
  }
}
