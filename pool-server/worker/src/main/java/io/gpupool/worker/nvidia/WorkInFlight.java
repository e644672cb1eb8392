// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.nvidia;

import io.gpupool.cuda.BackendTraits.Caller;
import java.util.ArrayDeque;

/** Batches that were submitted and have not ended, oldest first. Guarded by its gate. */
final class WorkInFlight {
  /** Time for which a program without competitors waits for room. */
  private static final long STALL_NANOS = 20_000_000;

  private static final long MAX_OVERDUE_NANOS = 1_000_000_000;
  private static final int OVERDUE_FACTOR = 4;
  private static final long HOST_FUNCTION_OVERDUE_NANOS = 5_000_000;

  private final TimingEvents events;
  private final Caller caller;
  private final WorkMeter meter;
  private final long overdueNanos;
  private final ArrayDeque<Batch> batches = new ArrayDeque<>();

  /** Batches that take far too long, which hold up nobody any more. */
  private final ArrayDeque<Batch> overdue = new ArrayDeque<>();

  private long expectedNanos;
  private int operations;
  private long progressNanos;

  /**
   * Makes it without work.
   *
   * @param overdueNanos how long a batch may last before it is overdue; longer if it is expected to
   *     take long
   */
  WorkInFlight(TimingEvents events, Caller caller, WorkMeter meter, long overdueNanos) {
    this.events = events;
    this.caller = caller;
    this.meter = meter;
    this.overdueNanos = overdueNanos;
  }

  boolean isEmpty() {
    return batches.isEmpty();
  }

  boolean hasOverdue() {
    return !overdue.isEmpty();
  }

  /** Returns the expected time of the batches that are not overdue. */
  long expectedNanos() {
    return expectedNanos;
  }

  /** Returns the number of operations in the batches that are not overdue. */
  int operations() {
    return operations;
  }

  /** Adds a batch that is closed. */
  void add(Batch batch, long now) {
    if (batches.isEmpty()) {
      progressNanos = now;
    }
    batches.add(batch);
    expectedNanos += batch.expectedNanos();
    operations += batch.operations();
  }

  /** Removes and measures the batches that have ended. */
  void harvest(long now, boolean contended) {
    while (!batches.isEmpty() && batches.peek().isReached(events)) {
      Batch batch = batches.poll();
      subtract(batch);
      meter.measure(batch, contended);
      progressNanos = now;
    }
    while (!overdue.isEmpty() && overdue.peek().isReached(events)) {
      meter.measure(overdue.poll(), contended);
    }
  }

  /** Declares all batches overdue if the oldest takes far too long. */
  void giveUpOverdue(long now) {
    Batch oldest = batches.peek();
    if (oldest == null || now - progressNanos < patienceNanos(oldest)) {
      return;
    }
    for (Batch batch : batches) {
      subtract(batch);
      overdue.add(batch);
    }
    batches.clear();
  }

  private long patienceNanos(Batch oldest) {
    return caller.hasHostFunctions()
        ? HOST_FUNCTION_OVERDUE_NANOS
        : Math.max(
            overdueNanos, Math.min(OVERDUE_FACTOR * oldest.expectedNanos(), MAX_OVERDUE_NANOS));
  }

  /** Returns whether nothing has ended for so long that the work may wait for work to come. */
  boolean isStalled(long now) {
    return now - progressNanos
        > Math.clamp(OVERDUE_FACTOR * expectedNanos, STALL_NANOS, MAX_OVERDUE_NANOS);
  }

  /** Drops the batches of a context that ends. */
  void endContext(long context) {
    batches.removeIf(batch -> {
      boolean ends = batch.context == context;
      if (ends) {
        subtract(batch);
      }
      return ends;
    });
    overdue.removeIf(batch -> batch.context == context);
    meter.endContext(context);
  }

  private void subtract(Batch batch) {
    expectedNanos -= batch.expectedNanos();
    operations -= batch.operations();
  }
}
