// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import io.gpupool.runtime.Timers;
import io.gpupool.server.identity.HolderName;
import io.gpupool.server.image.SessionImages;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.lease.lifecycle.LeaseService;
import io.gpupool.server.lease.store.SuspensionStore;
import io.gpupool.server.metrics.Metric;
import io.gpupool.server.records.SuspensionRecord;
import io.gpupool.server.state.StateException;
import io.gpupool.transport.Detaching;
import io.gpupool.transport.SocketPair;
import io.gpupool.wire.TextMessage;
import io.netty.channel.unix.FileDescriptor;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One suspension of a lease of this server, until its share is free. Has each session's worker
 * write it into an image, and commits when all are there. Owned by the control thread.
 */
final class Suspending {
  /** How often it looks whether its sessions are ready, or have ended. */
  private static final long LOOK_MILLIS = 50;

  private static final long RETRY_MILLIS = 1000;

  /** How long the sessions may take. */
  static final long LIMIT_MILLIS = 300_000;

  /** The reason why a lease is not suspended that was to be as it was idle. */
  static final String WORKS_AGAIN = "its programs work again";

  private static final Logger LOG = LoggerFactory.getLogger(Suspending.class);

  private final Lease lease;
  private final SuspensionRecord suspension;
  private final long leastIdleMillis;
  private final Surroundings with;
  private final SuspensionStore store;
  private final Map<Session, Leg> legs = new HashMap<>();
  private Timers.Cancellable timer = () -> {};

  /** The reason for which it has failed, until that is recorded; null: it has not. */
  private @Nullable String failure;

  /** Whether the sessions are saved, and their workers end. */
  private boolean isSaved;

  private boolean isOver;

  /**
   * What the suspensions of a server have in common.
   *
   * @param onSaved takes the sessions that are in images now
   * @param onOver runs once, when this one is over
   */
  record Surroundings(
      Sessions sessions,
      LeaseService leases,
      SessionImages images,
      Timers timers,
      Executor control,
      Consumer<List<SavedSession>> onSaved,
      Runnable onOver) {}

  /** The way of one session into its image. */
  private static final class Leg {
    private final SavedSession saved;
    private boolean hasMoved;
    private long pauseNanos;

    /** Of the image; negative: it is being written. */
    private long bytes = -1;

    Leg(SavedSession saved) {
      this.saved = saved;
    }
  }

  /**
   * Begins nothing yet.
   *
   * @param leastIdleMillis time for which its programs must have been idle when all is saved
   */
  Suspending(Lease lease, SuspensionRecord suspension, long leastIdleMillis, Surroundings with) {
    this.lease = lease;
    this.suspension = suspension;
    this.leastIdleMillis = leastIdleMillis;
    this.with = with;
    store = with.leases().store().suspensions();
  }

  boolean isOf(SuspensionRecord record) {
    return record.id().equals(suspension.id());
  }

  /** Does what can be done now, and looks again. */
  void proceed() {
    if (isOver) {
      return;
    }
    timer.cancel();
    long pauseMillis = LOOK_MILLIS;
    try {
      step();
    } catch (StateException e) {
      // It is not known to have failed either: the sessions stand still until it is known.
      LOG.warn("the suspension of lease {} cannot be recorded: {}", lease.id(), e.getMessage());
      pauseMillis = RETRY_MILLIS;
    }
    if (!isOver) {
      timer.cancel();
      timer = with.timers().after(pauseMillis, this::proceed);
    }
  }

  private void step() throws StateException {
    if (isSaved) {
      free();
      return;
    }
    checkFailure();
    if (failure != null) {
      store.fail(lease.id(), suspension.id(), failure);
      Optional<SuspensionRecord> record = store.get(lease.id()).filter(this::isOf);
      if (record.filter(SuspensionRecord::isSaved).isPresent()) {
        leave();
      } else {
        LOG.info("lease {} is not suspended: {}", lease.id(), failure);
        goOn();
      }
      return;
    }
    List<Session> open = with.sessions().of(lease);
    legs.keySet().retainAll(open);
    for (Session session : open) {
      if (session.isServed() && !legs.containsKey(session)) {
        begin(session);
      }
    }
    if (failure == null && open.stream().allMatch(this::isWritten)) {
      commit(open);
    }
  }

  private void checkFailure() {
    if (failure != null) {
      return;
    }
    if (!lease.state().isAlive()) {
      failure = "the lease has ended";
    } else if (with.timers().wallMillis() >= suspension.sinceMillis() + LIMIT_MILLIS) {
      failure = "its sessions were not saved in time";
    }
  }

  private boolean isWritten(Session session) {
    Leg leg = legs.get(session);
    return leg != null && leg.hasMoved && leg.bytes >= 0;
  }

  private void begin(Session session) {
    Leg leg = new Leg(SavedSession.of(MovingSession.of(session, suspension.id(), with.timers())));
    legs.put(session, leg);
    try {
      long used = lease.ledger().usedBytes(0);
      if (with.images().freeBytes() < used) {
        failure = "the disk of server " + with.leases().store().server() + " has no room for it";
        return;
      }
      SocketPair pair = SocketPair.open();
      session.resumption().keepOpen(true, session::end);
      session
          .worker()
          .send(
              TextMessage.ofType("move")
                  .put("move", suspension.id())
                  .put("saved", leastIdleMillis > 0 ? "running" : "paused")
                  .build(),
              pair.first());
      Thread.ofPlatform()
          .name("save " + session.id().brief())
          .daemon()
          .start(() -> write(session, leg, pair.second()));
    } catch (IOException e) {
      failure = session.client() + " cannot be saved: " + e.getMessage();
    }
  }

  /** Runs in a thread of its own. */
  private void write(Session session, Leg leg, FileDescriptor from) {
    try {
      long bytes = with.images().save(leg.saved.name(), leg.saved.head(), from);
      with.control().execute(() -> written(leg, bytes));
    } catch (IOException | RuntimeException e) {
      with.control().execute(() -> fail(session, "its image cannot be written: " + e.getMessage()));
    } finally {
      Detaching.closeQuietly(from);
    }
  }

  private void written(Leg leg, long bytes) {
    leg.bytes = bytes;
    if (!legs.containsValue(leg) || isOver && !isSaved) {
      delete(leg);
    }
    proceed();
  }

  void onMessage(Session session, TextMessage message) {
    Leg leg = legs.get(session);
    if (isOver || leg == null || !message.get("move").equals(Optional.of(suspension.id()))) {
      return;
    }
    if (message.type().equals("moved")) {
      leg.hasMoved = true;
      leg.pauseNanos = Departure.number(message, "pauseNanos");
      proceed();
    } else {
      fail(session, HolderName.plain(message.get("reason").orElse("its worker does not save it")));
    }
  }

  private void fail(Session session, String reason) {
    if (failure == null) {
      failure = session.client() + " cannot be suspended: " + reason;
    }
    proceed();
  }

  private void commit(List<Session> open) throws StateException {
    lease.noteWork(with.timers().nowNanos());
    if (lease.clock().idleMillis(with.timers().nowNanos()) < leastIdleMillis) {
      failure = WORKS_AGAIN;
      step();
      return;
    }
    boolean goesOn =
        store.save(
            lease.id(),
            suspension.id(),
            open.stream().map(session -> session.id().toString()).toList(),
            legs.values().stream().mapToLong(leg -> leg.bytes).sum(),
            legs.values().stream().mapToLong(leg -> leg.pauseNanos).max().orElse(0));
    if (goesOn) {
      leave();
    } else {
      failure = "the lease has ended";
      step();
    }
  }

  /** The sessions are saved: their workers end. */
  private void leave() throws StateException {
    isSaved = true;
    List<Session> open = with.sessions().of(lease);
    with.onSaved().accept(legs.values().stream().map(leg -> leg.saved).toList());
    count("suspended");
    LOG.info("lease {} is suspended with {} sessions", lease.id(), legs.size());
    for (Session session : open) {
      if (session.isServed()) {
        session.worker().send(Departure.end(suspension.id(), true));
      }
      session.leave("its lease is suspended");
    }
    free();
  }

  /** Frees the share of the lease once its workers are dead. */
  private void free() throws StateException {
    if (lease.sessions().isEmpty()) {
      store.release(lease.id(), suspension.id(), "");
      end();
    }
  }

  /** The sessions go on. */
  private void goOn() {
    legs.forEach((session, leg) -> {
      if (session.isServed()) {
        session.worker().send(Departure.end(suspension.id(), false));
        session.resumption().keepOpen(false, session::end);
      }
      if (leg.bytes >= 0) {
        delete(leg);
      }
    });
    count("failed");
    end();
  }

  private void delete(Leg leg) {
    try {
      with.images().delete(leg.saved.name());
    } catch (IOException e) {
      LOG.warn("the image of a session that goes on cannot be deleted: {}", e.getMessage());
    }
  }

  private void count(String result) {
    with.leases().metrics().add(Metric.SUSPENSIONS, 1, lease.tenant(), result);
  }

  private void end() {
    isOver = true;
    timer.cancel();
    with.onOver().run();
  }
}
