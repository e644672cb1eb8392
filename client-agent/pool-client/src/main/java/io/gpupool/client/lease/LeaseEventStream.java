// SPDX-License-Identifier: Apache-2.0
package io.gpupool.client.lease;

import io.gpupool.control.v1.Lease;
import io.gpupool.control.v1.LeaseEvent;
import io.gpupool.control.v1.Queued;
import io.gpupool.control.v1.Refused;
import io.grpc.Status;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * State machine of the events that answer a lease request or a hold. Its listener hears of exactly
 * one end, and of nothing after that. Owned by the thread on which the events come.
 */
public final class LeaseEventStream {
  private static final Logger LOG = LoggerFactory.getLogger(LeaseEventStream.class);

  /** The states of a stream. */
  enum State {
    /** Nothing was answered yet. */
    OPEN,
    /** The request waits in the queue. */
    QUEUED,
    /** The stream holds a lease. */
    HELD,
    /** The listener has heard of the end. */
    CLOSED
  }

  /** Receiver of what becomes of the lease. */
  public interface Listener {
    /** The request waits, or its place in the queue has changed. */
    default void queued(Queued queued) {}

    /** The stream holds the lease that was asked for. */
    void granted(Lease lease);

    /** The stream holds the lease that it was opened for. */
    default void held() {}

    /** The end: the request is refused. */
    void refused(Refused refusal);

    /** The end: the lease has ended. */
    void ended(String reason);

    /** The end of the stream, but perhaps not of the request or the lease. */
    void broken(Status status);
  }

  private final Listener listener;
  private State state = State.OPEN;

  public LeaseEventStream(Listener listener) {
    this.listener = listener;
  }

  State state() {
    return state;
  }

  /** Takes the next event. */
  public void onEvent(LeaseEvent event) {
    if (state == State.CLOSED) {
      return;
    }
    switch (event.getEventCase()) {
      case QUEUED -> {
        state = State.QUEUED;
        listener.queued(event.getQueued());
      }
      case GRANTED -> {
        state = State.HELD;
        listener.granted(event.getGranted());
      }
      case HELD -> {
        state = State.HELD;
        listener.held();
      }
      case REFUSED -> {
        state = State.CLOSED;
        listener.refused(event.getRefused());
      }
      case ENDED -> {
        state = State.CLOSED;
        listener.ended(event.getEnded().getReason());
      }
      case EVENT_NOT_SET -> LOG.debug("an event of a later version");
    }
  }

  /** Takes the end of the call; {@code OK} is one without an answer, unless there was one. */
  public void onClose(Status status) {
    if (state == State.CLOSED) {
      return;
    }
    state = State.CLOSED;
    listener.broken(
        status.isOk()
            ? Status.INTERNAL.withDescription("it has closed the request without an answer")
            : status);
  }
}
