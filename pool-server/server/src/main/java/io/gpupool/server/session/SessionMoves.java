// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import io.gpupool.runtime.Timers;
import io.gpupool.server.control.CoalescedTask;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.lease.lifecycle.LeaseService;
import io.gpupool.server.lease.store.MoveStore;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.records.MoveRecord;
import io.gpupool.server.stream.CallStream;
import io.gpupool.wire.ClientHello;
import io.gpupool.wire.SessionId;
import io.gpupool.wire.TextMessage;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.function.Consumer;

/**
 * The moves of this server's sessions to other GPUs, and of others to here. Goes by the records of
 * moves, a moment after each change and once a second. Owned by the control thread.
 */
public final class SessionMoves {
  private static final long EACH_MILLIS = 1000;

  private final MoveStore store;
  private final String server;
  private final Timers timers;
  private final Executor control;
  private final Departures departures;
  private final Arrivals arrivals;
  private final List<Waiter> waiters = new ArrayList<>();
  private final List<Settling> settling = new ArrayList<>();

  /** A caller that waits for the end of a move. */
  private record Waiter(LeaseId lease, String move, Consumer<Optional<MoveRecord>> then) {}

  /** An action that waits until sessions of a lease do not leave this server's GPU any more. */
  private record Settling(LeaseId lease, Runnable action) {}

  SessionMoves(
      Sessions sessions,
      LeaseService leases,
      ServerDialer dialer,
      Timers timers,
      Executor control) {
    this.timers = timers;
    this.control = control;
    store = leases.store().moves();
    server = leases.store().server();
    departures =
        new Departures(
            sessions,
            leases,
            new WorkerDialer(server, dialer, sessions),
            timers,
            control,
            this::reconcile);
    arrivals = new Arrivals(sessions, leases, timers, control);
  }

  /** Goes by the records from now on. */
  public void start() {
    store.whenChanged(new CoalescedTask(control, timers, this::reconcile));
    control.execute(this::eachSecond);
  }

  private void eachSecond() {
    timers.after(EACH_MILLIS, this::eachSecond);
    reconcile();
  }

  private void reconcile() {
    Map<LeaseId, MoveRecord> all = store.all();
    all.forEach((id, move) -> {
      if (move.source().server().equals(server)) {
        departures.reconcile(id, move);
      }
      if (move.target().gpu().server().equals(server)) {
        arrivals.reconcile(id, move);
      }
    });
    departures.keep(all);
    arrivals.keep(all);
    for (Settling waiting : List.copyOf(settling)) {
      if (!departures.isUnderWay(waiting.lease())) {
        settling.remove(waiting);
        waiting.action().run();
      }
    }
    for (Waiter waiter : List.copyOf(waiters)) {
      Optional<MoveRecord> move =
          Optional.ofNullable(all.get(waiter.lease()))
              .filter(found -> found.id().equals(waiter.move()));
      if (move.filter(MoveRecord::isPreparing).isEmpty()) {
        waiters.remove(waiter);
        waiter.then().accept(move);
      }
    }
  }

  /**
   * Calls back when a move is over.
   *
   * @param then gets its record; empty: there is none any more
   */
  public void whenOver(LeaseId lease, String move, Consumer<Optional<MoveRecord>> then) {
    waiters.add(new Waiter(lease, move, then));
    control.execute(this::reconcile);
  }

  /** Has an action run when sessions of a lease do not leave any more, or have left. */
  public void whenSettled(LeaseId lease, Runnable action) {
    settling.add(new Settling(lease, action));
  }

  /** Returns whether a session has come here whose lease is not known to have moved yet. */
  public boolean isArriving(SessionId session) {
    return arrivals.contains(session);
  }

  /** Returns whether sessions of a lease are about to leave this server's GPU. */
  public boolean isLeaving(Lease lease) {
    return departures.isUnderWay(lease.id());
  }

  /** Returns the lease of a session that has moved. Looks at all moves. */
  public Optional<LeaseId> leaseOf(SessionId session) {
    return store.leaseOf(session.toString());
  }

  /** Takes what a worker says whose session moves. */
  void onMessage(Session session, TextMessage message) {
    departures.onMessage(session, message);
  }

  /** Lets a session in that moves here. */
  void accept(ClientHello hello, CallStream stream, int version) {
    arrivals.accept(hello, stream, version);
  }
}
