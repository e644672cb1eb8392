// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller;

import io.gpupool.control.v1.ListSessionsReply;
import io.gpupool.control.v1.SessionInfo;
import io.gpupool.runtime.Timers;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The pool's sessions that have lost their connection, by lease, as the pool lists them from time
 * to time. Owned by the controller's thread.
 */
final class DisconnectedSessions {
  /**
   * A session's end that is computed from the time left is never quite the same; within this much,
   * the first one stays.
   */
  private static final Duration SAME = Duration.ofSeconds(3);

  private static final Logger LOG = LoggerFactory.getLogger(DisconnectedSessions.class);

  private final Consumer<StreamObserver<ListSessionsReply>> list;
  private final Timers timers;
  private final Duration every;
  private final BooleanSupplier isInContact;
  private final Consumer<Set<String>> changed;
  private Map<String, Instant> untilByLease = Map.of();
  private boolean asking;

  /**
   * Makes it without asking yet.
   *
   * @param list asks the pool for these sessions
   * @param isInContact whether what the pool tells can be written
   * @param changed told which leases are concerned by news
   */
  DisconnectedSessions(
      Consumer<StreamObserver<ListSessionsReply>> list,
      Timers timers,
      Duration every,
      BooleanSupplier isInContact,
      Consumer<Set<String>> changed) {
    this.list = list;
    this.timers = timers;
    this.every = every;
    this.isInContact = isInContact;
    this.changed = changed;
  }

  /** Asks at once, so that a controller that starts knows it before it reports on pods. */
  void start() {
    ask();
    timers.after(every, this::look);
  }

  /** Returns until when the first session of a lease may come back; empty: none is lost. */
  Optional<Instant> until(String lease) {
    return Optional.ofNullable(untilByLease.get(lease));
  }

  private void look() {
    timers.after(every, this::look);
    if (!asking && isInContact.getAsBoolean()) {
      ask();
    }
  }

  private void ask() {
    asking = true;
    list.accept(
        PoolCalls.answer(
            reply -> {
              asking = false;
              learn(reply);
            },
            status -> {
              asking = false;
              LOG.debug("the pool does not list its disconnected sessions: {}", status);
            }));
  }

  private void learn(ListSessionsReply reply) {
    Instant now = timers.now();
    Map<String, Instant> next = new HashMap<>();
    for (SessionInfo session : reply.getSessionsList()) {
      // A pool of an earlier release lists all sessions.
      if (session.getState() == SessionInfo.State.STATE_DISCONNECTED) {
        Instant until = now.plusMillis(session.getResumeMillisLeft());
        next.merge(session.getLeaseId(), until, (a, b) -> a.isBefore(b) ? a : b);
      }
    }
    Map<String, Instant> before = untilByLease;
    next.replaceAll((lease, until) -> steady(before.get(lease), until));
    Set<String> news = new HashSet<>(before.keySet());
    news.addAll(next.keySet());
    news.removeIf(lease -> Objects.equals(before.get(lease), next.get(lease)));
    untilByLease = next;
    if (!news.isEmpty()) {
      changed.accept(news);
    }
  }

  private static Instant steady(@Nullable Instant before, Instant now) {
    return before != null && Duration.between(before, now).abs().compareTo(SAME) < 0 ? before : now;
  }
}
