// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.nvidia;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The batch to which operations are being added, if there is one, and the permission of one thread
 * to add more without the gate's lock ({@link Express}). Guarded by its gate.
 */
final class OpenBatch {
  private static final int MAX_EXPRESS = 1 << 20;

  private final TimingEvents events;
  private final WorkInFlight inFlight;
  private final AtomicInteger calls;
  private final AtomicReference<@Nullable Express> express;
  private @Nullable Batch batch;
  private @Nullable Permission permission;

  /** Permission to repeat an operation of a batch. */
  private record Permission(Express express, Batch batch, Cost cost) {}

  /**
   * Makes it without a batch.
   *
   * @param inFlight gets the batches that are closed
   * @param calls the number of calls of the driver that have begun and not returned
   * @param express where threads find the permission
   */
  OpenBatch(
      TimingEvents events,
      WorkInFlight inFlight,
      AtomicInteger calls,
      AtomicReference<@Nullable Express> express) {
    this.events = events;
    this.inFlight = inFlight;
    this.calls = calls;
    this.express = express;
  }

  boolean isEmpty() {
    return batch == null;
  }

  /** Returns the expected time of its operations; those without the lock count once taken back. */
  long expectedNanos() {
    return batch == null ? 0 : batch.expectedNanos();
  }

  int operations() {
    return batch == null ? 0 : batch.operations();
  }

  /** Returns whether it has been open for longer than that. */
  boolean isOlderThan(long nanos, long now) {
    return batch != null && now - batch.openedNanos > nanos;
  }

  boolean touches(long stream) {
    return batch != null && batch.touches(stream);
  }

  /** Returns whether there is a batch with room for an operation. */
  boolean takes(long context, long stream, Cost cost) {
    return batch != null && batch.takes(context, stream, cost);
  }

  /** Adds an operation, to a new batch if there is none. */
  void add(long context, long stream, Cost cost, long nanos) {
    Batch open = batch == null ? new Batch(context, System.nanoTime()) : batch;
    open.add(events, stream, cost, nanos);
    batch = open;
  }

  /** Notes that an operation was not submitted after all. */
  void fail() {
    if (batch != null) {
      batch.fail();
    }
  }

  /** Lets the calling thread repeat an operation without the lock until the batch is full. */
  void permit(long context, long stream, long key, Cost cost, long fullNanos) {
    if (batch == null) {
      return;
    }
    long each = Math.max(1, cost.nanosOr(1));
    long times = (fullNanos - batch.expectedNanos()) / each;
    if (times > 1) {
      Express given = new Express(context, stream, key, (int) Math.min(times, MAX_EXPRESS));
      permission = new Permission(given, batch, cost);
      express.set(given);
    }
  }

  /** Adds what was submitted without the lock; returns false while something is. */
  boolean revokePermission() {
    if (permission == null) {
      return true;
    }
    express.set(null);
    Express given = permission.express;
    if (!given.revoke()) {
      return false;
    }
    permission.batch.addMore(permission.cost, given.count());
    if (given.hasFailed()) {
      permission.batch.fail();
    }
    permission = null;
    return true;
  }

  /**
   * Ends the batch.
   *
   * @return false while a call is in the driver: its work would be behind the batch's last event
   */
  boolean close(long now) {
    if (calls.get() > 0 || !revokePermission()) {
      return false;
    }
    if (batch != null) {
      batch.close(events, now);
      inFlight.add(batch, now);
      batch = null;
    }
    return true;
  }

  /** Forgets the batch, whose work goes on and is not measured. */
  void abandon() {
    permission = null;
    batch = null;
  }

  /** Forgets a batch of a context that ends. */
  void endContext(long context) {
    if (batch != null && batch.context == context) {
      boolean ignored = revokePermission();
      abandon();
    }
  }
}
