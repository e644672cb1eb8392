// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.nvidia;

import io.gpupool.cuda.DriverTime;

/**
 * Meter of the time that a GPU takes for batches that have ended: it charges the lease, and teaches
 * the operations' costs. Guarded by its gate.
 */
final class WorkMeter {
  private final DriverTime time;
  private final TimingEvents events;
  private long previousEnd;
  private long previousContext;

  WorkMeter(DriverTime time, TimingEvents events) {
    this.time = time;
    this.events = events;
  }

  /**
   * Charges a batch, which must have ended after those measured before.
   *
   * @param contended whether another lease wants the GPU
   */
  void measure(Batch batch, boolean contended) {
    long end = batch.lastEnd(events);
    long elapsed = batch.elapsedNanos(events, end);
    long spent = elapsed;
    if (previousEnd != TimingEvents.NONE && end != TimingEvents.NONE) {
      if (previousContext == batch.context) {
        // The batch before it may have taken part of that time.
        spent = Math.clamp(events.elapsedNanos(previousEnd, end), 0, elapsed);
      }
      events.release(previousContext, previousEnd);
    }
    if (!contended && batch.isStarved(elapsed)) {
      spent = Math.min(spent, batch.expectedNanos());
    }
    batch.learn(elapsed);
    batch.release(events, end);
    previousEnd = end;
    previousContext = batch.context;
    time.addMeasured(spent);
  }

  /** Forgets the events of a context that ends. */
  void endContext(long context) {
    if (previousContext == context) {
      previousEnd = TimingEvents.NONE;
    }
    events.forget(context);
  }
}
