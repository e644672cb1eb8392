// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import io.gpupool.runtime.Timers;
import io.gpupool.server.image.SessionImages;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.lease.lifecycle.LeaseService;
import io.gpupool.server.lease.store.SuspensionStore;
import io.gpupool.server.metrics.Metric;
import io.gpupool.server.records.SuspensionRecord;
import io.gpupool.server.rejection.InvalidRequestException;
import io.gpupool.server.state.StateException;
import io.gpupool.wire.SessionId;
import io.gpupool.wire.Versions;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The restoring of the sessions of a lease that has a share of a GPU again, from their images.
 * Owned by the control thread.
 */
final class Resuming {
  private static final long RETRY_MILLIS = 1000;
  private static final Logger LOG = LoggerFactory.getLogger(Resuming.class);

  private final Lease lease;
  private final SuspensionRecord suspension;
  private final Surroundings with;
  private final SuspensionStore store;
  private final Map<SessionId, ArrivingSession> arriving = new LinkedHashMap<>();
  private final Set<SessionId> restored = new HashSet<>();
  private int expected;

  /** The reason for which it is given up; empty: it is not. */
  private String failure = "";

  private boolean isOver;

  /**
   * What the resumptions of a server have in common.
   *
   * @param onOver runs once, with the reason why the lease is suspended as before; empty: it goes
   *     on
   */
  record Surroundings(
      Sessions sessions,
      LeaseService leases,
      SessionImages images,
      Timers timers,
      Executor control,
      Consumer<String> onOver) {}

  Resuming(Lease lease, SuspensionRecord suspension, Surroundings with) {
    this.lease = lease;
    this.suspension = suspension;
    this.with = with;
    store = with.leases().store().suspensions();
  }

  /** Gives each session a worker, which restores it. */
  void begin(List<SavedSession> saved) {
    expected = saved.size();
    for (SavedSession session : saved) {
      if (failure.isEmpty()) {
        begin(session);
      }
    }
    commitIfWhole();
  }

  private void begin(SavedSession saved) {
    SessionId id = saved.id();
    try {
      Session session = with.sessions().expect(lease, saved.moving(), () -> gone(id));
      ImageStream stream =
          new ImageStream(
              with.images(),
              saved.name(),
              reason -> with.control().execute(() -> fail(session, reason)));
      ArrivingSession arrival =
          new ArrivingSession(
              session, stream, with.control(), () -> restored(id), reason -> fail(session, reason));
      arriving.put(id, arrival);
      arrival.begin(with.sessions().starts(), Versions.CALL_STREAM_MAX);
    } catch (InvalidRequestException e) {
      giveUp(saved.moving().program().name() + " cannot be resumed: " + e.getMessage());
    }
  }

  private void restored(SessionId id) {
    restored.add(id);
    commitIfWhole();
  }

  private void commitIfWhole() {
    if (isOver || !failure.isEmpty() || restored.size() < expected) {
      return;
    }
    try {
      if (store.resume(lease.id(), suspension.id())) {
        complete();
      } else {
        giveUp("the lease has ended");
      }
    } catch (StateException e) {
      // It may have been committed: nothing executes until that is known.
      LOG.warn("lease {} cannot be resumed yet: {}", lease.id(), e.getMessage());
      with.timers().after(RETRY_MILLIS, this::commitIfWhole);
    }
  }

  private void complete() {
    isOver = true;
    List<ArrivingSession> all = List.copyOf(arriving.values());
    arriving.clear();
    all.forEach(session -> session.complete(with.sessions(), "its lease was suspended"));
    count("resumed");
    LOG.info("lease {} is resumed with {} sessions", lease.id(), all.size());
    with.onOver().accept("");
  }

  private void fail(Session session, String reason) {
    if (arriving.containsKey(session.id())) {
      giveUp(session.client() + " cannot be resumed: " + reason);
    }
  }

  private void gone(SessionId id) {
    ArrivingSession dead = arriving.remove(id);
    if (dead != null && failure.isEmpty() && !isOver) {
      giveUp("the worker of a session has died as it was restored");
    }
    endIfGone();
  }

  /** Ends what has been restored; the lease is suspended as before. */
  void giveUp(String reason) {
    if (isOver || !failure.isEmpty()) {
      return;
    }
    failure = reason;
    LOG.info("lease {} is not resumed: {}", lease.id(), reason);
    count("failed");
    List.copyOf(arriving.values()).forEach(session -> session.end(reason));
    endIfGone();
  }

  private void endIfGone() {
    if (isOver || failure.isEmpty() || !arriving.isEmpty()) {
      return;
    }
    try {
      store.release(lease.id(), suspension.id(), failure);
    } catch (StateException e) {
      LOG.warn("lease {} cannot give its share back yet: {}", lease.id(), e.getMessage());
      with.timers().after(RETRY_MILLIS, this::endIfGone);
      return;
    }
    isOver = true;
    with.onOver().accept(failure);
  }

  private void count(String result) {
    with.leases().metrics().add(Metric.SUSPENSIONS, 1, lease.tenant(), result);
  }
}
