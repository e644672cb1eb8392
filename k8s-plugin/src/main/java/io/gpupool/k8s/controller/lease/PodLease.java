// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller.lease;

import io.gpupool.client.connection.StatusText;
import io.gpupool.client.lease.LeaseEventStream;
import io.gpupool.control.v1.Cause;
import io.gpupool.control.v1.Lease;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.control.v1.Queued;
import io.gpupool.control.v1.Refused;
import io.gpupool.k8s.controller.options.ControllerOptions;
import io.gpupool.k8s.request.RejectionAdvice;
import io.gpupool.runtime.BackOff;
import io.gpupool.runtime.Timers;
import io.grpc.Status;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * A lease that a pod needs, from its request to its release. It has one stream at most at any time.
 * Owned by the controller's thread.
 */
public final class PodLease {
  /** The time after which a lease counts as a good one. */
  private static final long GOOD_NANOS = Duration.ofSeconds(10).toNanos();

  /** The states of a pod's lease. */
  public enum State {
    /** Not asked for. */
    IDLE,
    /** Asked for, without an answer yet. */
    ASKED,
    QUEUED,
    HELD,
    /** Refused; asked for again later. */
    REFUSED,
    /** The pool does not answer; asked for again soon. */
    AWAY,
    /** The lease is being ended. */
    RETURNED
  }

  /** The pod that needs the lease. */
  interface Owner {
    void changed();

    /** A lease has ended that was to go on. */
    void lost(PodLease claim, String lease, String reason);
  }

  private final RequiredLease wanted;
  private final LeasePool pool;
  private final Timers timers;
  private final Supplier<LeaseRequest> request;
  private final Owner owner;
  private final BackOff retry;
  private final BackOff refusals;
  private State state = State.IDLE;
  private @Nullable Lease lease;
  private String reason = "";
  private int place;
  private long sinceNanos;
  private boolean givenBack;
  private @Nullable Hearing hearing;
  private Timers.Cancellable again = Timers.Cancellable.NOTHING;

  PodLease(
      RequiredLease wanted,
      LeasePool pool,
      Timers timers,
      ControllerOptions.Times times,
      RandomGenerator random,
      Supplier<LeaseRequest> request,
      Owner owner) {
    this.wanted = wanted;
    this.pool = pool;
    this.timers = timers;
    this.request = request;
    this.owner = owner;
    retry = times.retries().jittered(random);
    refusals = times.refusals().jittered(random);
  }

  public RequiredLease wanted() {
    return wanted;
  }

  public State state() {
    return state;
  }

  /** Returns the lease that it has, as far as is known. */
  public Optional<Lease> lease() {
    return Optional.ofNullable(lease);
  }

  /**
   * Returns until when a program may come back that has lost its connection; empty: none has, or
   * the lease is not held.
   */
  Optional<Instant> disconnectedUntil() {
    return state == State.HELD
        ? lease().flatMap(held -> pool.disconnectedUntil(held.getId()))
        : Optional.empty();
  }

  /** Returns why it waits, is refused, or cannot be asked for. */
  String reason() {
    return reason;
  }

  int place() {
    return place;
  }

  /** Returns when its state began. */
  long sinceNanos() {
    return sinceNanos;
  }

  /** Returns whether nothing is asked for and nothing is left to give back. */
  boolean isAtRest() {
    return state == State.IDLE && lease == null;
  }

  /** Returns whether everything that the pool has for it is to end. */
  public boolean isGivenBack() {
    return givenBack;
  }

  /** Asks for the lease, unless that was done already. */
  void ask() {
    if (state == State.IDLE) {
      open();
    }
  }

  private void open() {
    again.cancel();
    givenBack = false;
    turn(State.ASKED);
    Hearing heard = new Hearing();
    hearing = heard;
    heard.stream = pool.ask(request.get(), heard);
    if (hearing != heard) {
      heard.cancel();
    }
  }

  /** Gives back what it has, and asks for no more. */
  void giveBack(String why) {
    boolean asked = state != State.IDLE && state != State.REFUSED;
    boolean returned = state == State.RETURNED;
    givenBack = true;
    releaseHold();
    if (returned) {
      state = State.RETURNED;
    } else if (lease != null) {
      turn(State.RETURNED);
      pool.release(lease.getId(), why, this::returned);
    } else if (asked) {
      // It may be granted at this very moment.
      pool.sweepSoon();
    }
  }

  private void returned() {
    if (state == State.RETURNED) {
      lease = null;
      turn(State.IDLE);
      owner.changed();
    }
  }

  /** Leaves the lease, if it has one, to the pool's grace. */
  void releaseHold() {
    if (hearing != null) {
      hearing.cancel();
    }
    hearing = null;
    again.cancel();
    if (state != State.RETURNED) {
      turn(State.IDLE);
    }
  }

  private void turn(State next) {
    if (state != next) {
      state = next;
      sinceNanos = timers.nowNanos();
    }
  }

  private void lose(String why) {
    if (lease != null) {
      String before = lease.getId();
      lease = null;
      owner.lost(this, before, why);
    }
  }

  private void askAgain(Duration pause) {
    again = timers.after(pause, this::open);
  }

  /** A listener to one stream. */
  private final class Hearing implements LeaseEventStream.Listener {
    private LeasePool.@Nullable Stream stream;

    void cancel() {
      if (stream != null) {
        stream.cancel();
      }
    }

    private boolean isOver() {
      return hearing != this;
    }

    private void end() {
      hearing = null;
    }

    @Override
    public void queued(Queued queued) {
      if (isOver()) {
        return;
      }
      retry.reset();
      place = queued.getPosition();
      reason = RejectionAdvice.of(wanted.request()).text(queued.getReason());
      turn(State.QUEUED);
      lose("the pool had ended it while it could not be reached");
      owner.changed();
    }

    @Override
    public void granted(Lease granted) {
      if (isOver()) {
        return;
      }
      retry.reset();
      refusals.reset();
      turn(State.HELD);
      if (lease == null || !lease.getId().equals(granted.getId())) {
        lose("the pool had ended it while it could not be reached");
      }
      lease = granted;
      owner.changed();
    }

    @Override
    public void refused(Refused refusal) {
      if (isOver()) {
        return;
      }
      end();
      reason = RejectionAdvice.of(wanted.request()).text(refusal);
      boolean draining = refusal.getCause() == Cause.CAUSE_DRAINING;
      turn(draining ? State.AWAY : State.REFUSED);
      lose(reason);
      askAgain(draining ? retry.next() : refusals.next());
      owner.changed();
    }

    @Override
    public void ended(String why) {
      if (isOver()) {
        return;
      }
      end();
      reason = "its lease has ended: " + why;
      boolean good = timers.nowNanos() - sinceNanos > GOOD_NANOS;
      turn(State.AWAY);
      lose(why);
      // Otherwise a lease that ends as soon as it is granted would be asked for without end.
      askAgain(good ? retry.next() : refusals.next());
      owner.changed();
    }

    @Override
    public void broken(Status status) {
      if (isOver()) {
        return;
      }
      end();
      reason = "the pool does not answer: " + StatusText.of(status);
      turn(State.AWAY);
      askAgain(retry.next());
      owner.changed();
    }
  }
}
