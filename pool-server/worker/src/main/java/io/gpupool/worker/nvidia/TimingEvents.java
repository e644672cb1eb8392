// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.nvidia;

/** Events by which a driver tells when it came to some place in a stream. */
interface TimingEvents {
  /** No event. */
  long NONE = 0;

  /** Makes a context current in the calling thread; returns the one that was. */
  long select(long context);

  /**
   * Records an event at the present end of a stream of the current context, or returns {@link
   * #NONE}.
   */
  long record(long context, long stream);

  /** Returns whether it was reached; true if that cannot be known any more. */
  boolean isReached(long event);

  /**
   * Returns the nanoseconds between two events that were reached; negative if that cannot be known.
   */
  long elapsedNanos(long from, long to);

  /** Gives an event back. */
  void release(long context, long event);

  /** Forgets all events of a context that ends. */
  void forget(long context);
}
