// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.quota;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.cuda.Backend;
import io.gpupool.worker.session.call.CurrentCall;
import io.gpupool.worker.session.call.Waits;
import io.gpupool.worker.session.core.Answers;
import io.gpupool.worker.session.core.ContextState;
import io.gpupool.worker.session.stream.BlockingCalls;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.IntPredicate;

/**
 * The lease's memory as this session uses it. Memory that the program has freed counts until it is
 * gone, for until then kernels can use it. The session's thread reserves; any thread may release.
 */
public final class MemoryQuota {
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

  /** After so many bytes it is measured what the driver takes, near the quota sooner. */
  private static final long MEASURED_EVERY_BYTES = 256L << 20;

  private static final int MEASURED_EVERY_PART_OF_FREE = 8;

  private final Ledger ledger;
  private final DriverOverhead overhead;
  private final OutOfMemoryReport report;
  private final BlockCount blocks;
  private final MemoryCredit credit;
  private final CurrentCall call;
  private final Backend backend;
  private final Waits waits;
  private final Answers answers;
  private final Runnable readAhead;

  /** The busy time of the device when a wait was given up; {@link #NEVER}: none was. */
  private long busyInVain = NEVER;

  /** Has caches of a GPU give memory back; false if there is nothing in them. */
  private IntPredicate reclaim = gpu -> false;

  /** By GPU: freed and not gone yet. */
  @GuardedBy("this")
  private final long[] leaving;

  /** By GPU: counted since it was last measured what the driver takes. */
  private final long[] unmeasured;

  /**
   * Makes the session's view of a ledger.
   *
   * @param call which the memory is for
   * @param readAhead see {@link BlockingCalls}
   */
  public MemoryQuota(
      Ledger ledger,
      DriverOverhead overhead,
      Backend backend,
      CurrentCall call,
      Waits waits,
      Answers answers,
      Runnable readAhead) {
    this.ledger = ledger;
    this.overhead = overhead;
    this.call = call;
    report = new OutOfMemoryReport(answers, ledger);
    this.backend = backend;
    this.waits = waits;
    this.answers = answers;
    this.readAhead = readAhead;
    leaving = new long[ledger.gpus()];
    unmeasured = new long[ledger.gpus()];
    blocks = new BlockCount(backend.memoryBlockBytes(), ledger.gpus());
    credit = new MemoryCredit(ledger);
  }

  /** Sets how memory is had back that is kept for later allocations. */
  public void reclaimBy(IntPredicate newReclaim) {
    reclaim = newReclaim;
  }

  /** Credit of this session for small allocations. */
  public MemoryCredit credit() {
    return credit;
  }

  /**
   * Counts memory; waits for what is leaving if there is room only then. False if there is none, or
   * none before the program has given its credit back.
   */
  public boolean reserve(int gpu, long lengthBytes) {
    measureInTime(gpu, lengthBytes);
    if (ledger.tryReserve(gpu, lengthBytes)) {
      return true;
    }
    if (credit.unusedBytes(gpu) > 0) {
      call.wantCredit();
      return false;
    }
    if (awaitRoom(gpu, lengthBytes)
        // What was leaving at the first try may have gone before the wait looked at it.
        || ledger.tryReserve(gpu, lengthBytes)
        || reclaim.test(gpu) && ledger.tryReserve(gpu, lengthBytes)
        || measure(gpu) && ledger.tryReserve(gpu, lengthBytes)) {
      return true;
    }
    ledger.refuse();
    report.allocation(gpu, lengthBytes, overhead.bytes(gpu));
    return false;
  }

  private void measureInTime(int gpu, long lengthBytes) {
    unmeasured[gpu] += Math.max(0, lengthBytes);
    if (unmeasured[gpu] > MEASURED_EVERY_BYTES
        || unmeasured[gpu] > ledger.freeBytes(gpu) / MEASURED_EVERY_PART_OF_FREE) {
      unmeasured[gpu] = 0;
      boolean ignored = measure(gpu);
    }
  }

  /**
   * Counts what the driver has taken beyond what was allocated; false if the lease exceeds its
   * quota by it.
   */
  public boolean measure(int gpu) {
    return overhead.measure(gpu, leaving(gpu) == 0);
  }

  /** Counts a context that is to be made; false if the lease has no room for it. */
  public boolean reserveContext(int gpu) {
    boolean reserved = overhead.reserveContext(gpu) || reclaim(gpu) && overhead.reserveContext(gpu);
    if (!reserved) {
      report.context(gpu, backend.contextBytes());
    }
    return reserved;
  }

  /** Counts local memory that a kernel is about to need; false if the lease has no room for it. */
  boolean reserveLocalMemory(int gpu, long lengthBytes) {
    boolean reserved =
        overhead.reserve(gpu, lengthBytes) || reclaim(gpu) && overhead.reserve(gpu, lengthBytes);
    if (!reserved) {
      report.localMemory(gpu, lengthBytes);
    }
    return reserved;
  }

  /** Counts the heap of a context's kernels; false if the lease has no room for it. */
  public boolean countHeap(ContextState context, long bytes) {
    if (bytes > context.heapBytes() && !reserve(context.gpu, bytes - context.heapBytes())) {
      return false;
    }
    if (bytes < context.heapBytes()) {
      releaseAfterWork(context.gpu, context.heapBytes() - bytes);
    }
    context.setHeapBytes(bytes);
    return true;
  }

  /** Notices frees that have come to their turn. */
  public void noticeFrees() {
    if (!waits.isEmpty()) {
      waits.poll();
    }
  }

  /** The bytes that the programs of the lease may still allocate. */
  public long freeBytes(int gpu) {
    return Math.min(ledger.quotaBytes(gpu), ledger.freeBytes(gpu) + ledger.creditBytes(gpu));
  }

  /** The number of GPUs of the lease. */
  public int gpus() {
    return ledger.gpus();
  }

  /** The bytes that the lease may have. */
  public long quotaBytes(int gpu) {
    return ledger.quotaBytes(gpu);
  }

  /** A context has ended, or was not made. */
  public void contextEnded(int gpu) {
    overhead.contextEnded(gpu, leaving(gpu) == 0);
  }

  /** Counts an allocation as {@link #reserve} does, by the driver's blocks. */
  public boolean reserveBlock(int gpu, long lengthBytes) {
    long taken = blocks.add(gpu, lengthBytes);
    boolean reserved = reserve(gpu, taken);
    if (!reserved) {
      long ignored = blocks.remove(gpu, lengthBytes);
    }
    return reserved;
  }

  /** Counts an allocation as {@link #reserveBlock} does, of which credit has paid the length. */
  public void countPaidBlock(int gpu, long lengthBytes) {
    long more = blocks.add(gpu, lengthBytes) - lengthBytes;
    if (more != 0) {
      ledger.charge(gpu, more);
    }
  }

  /** Takes back what {@link #reserveBlock} or {@link #countPaidBlock} counted. */
  public void releaseBlock(int gpu, long lengthBytes) {
    release(gpu, blocks.remove(gpu, lengthBytes));
  }

  /** The same once all that has been submitted to the current context is done. */
  public void releaseBlockAfterWork(int gpu, long lengthBytes) {
    leave(gpu, lengthBytes, backend::afterWork, () -> releaseBlock(gpu, lengthBytes));
  }

  /** Has memory back that is kept for later allocations; false if there is none. */
  public boolean reclaim(int gpu) {
    return reclaim.test(gpu);
  }

  /** Takes back what was counted, of memory that is gone. */
  public void release(int gpu, long lengthBytes) {
    ledger.release(gpu, lengthBytes);
  }

  /** The same once all that has been submitted to the current context is done. */
  public void releaseAfterWork(int gpu, long lengthBytes) {
    leave(gpu, lengthBytes, backend::afterWork, () -> release(gpu, lengthBytes));
  }

  /**
   * Memory is freed and not gone yet; it is still counted.
   *
   * @param afterwards runs an action, in any thread, when the memory is gone
   * @param gone releases the memory, or counts it otherwise
   */
  public void leave(int gpu, long lengthBytes, Consumer<Runnable> afterwards, Runnable gone) {
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

  /** Returns whether all that was freed is gone. */
  public synchronized boolean isSettled() {
    return Arrays.stream(leaving).allMatch(bytes -> bytes == 0);
  }

  private synchronized long leaving(int gpu) {
    return leaving[gpu];
  }

  /** Returns whether there is room once all that is leaving has gone. */
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
