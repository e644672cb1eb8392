// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import io.gpupool.runtime.ProcessStart;
import io.gpupool.server.control.ControlThread;
import io.gpupool.server.lease.usage.FormerUsage;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.records.GrantRecord;
import io.gpupool.server.records.RecordTypes;
import io.gpupool.server.session.Session;
import io.gpupool.server.session.Sessions;
import io.gpupool.server.state.RecordStore;
import io.gpupool.server.state.Versioned;
import io.gpupool.server.takeover.SessionRecord;
import io.gpupool.server.takeover.SessionRecords;
import io.gpupool.server.takeover.SessionRecords.Lost;
import io.gpupool.server.worker.ClaimedWorker;
import io.gpupool.server.worker.WorkerClaims;
import io.gpupool.server.worker.WorkerPool;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The takeover of the sessions that the server's former process has left: first their workers are
 * claimed, then their leases taken in, then they go on. Used by the thread that starts the server.
 */
final class TakeoverPlane {
  private static final long DEATH_LIMIT_NANOS = TimeUnit.SECONDS.toNanos(5);
  private static final long LOOK_MILLIS = 5;
  private static final Logger LOG = LoggerFactory.getLogger(TakeoverPlane.class);

  private final RunPlane run;
  private final ControlThread control;
  private final FormerUsage usage;
  private final Map<SessionRecord, ClaimedWorker> claimed = new LinkedHashMap<>();

  private TakeoverPlane(RunPlane run, ControlThread control) {
    this.run = run;
    this.control = control;
    usage =
        run.folder() != null && !run.folder().isFresh()
            ? FormerUsage.known()
            : FormerUsage.unknown();
  }

  /** Claims all workers that can be, and kills the others. */
  static TakeoverPlane open(
      RunPlane run, RecordStore records, WorkerPool workers, ServerThreads threads)
      throws IOException {
    TakeoverPlane plane = new TakeoverPlane(run, threads.control());
    if (run.folder() != null) {
      plane.claim(
          records, new WorkerClaims(run.folder(), workers, threads.loop(), threads.control()));
    }
    return plane;
  }

  private void claim(RecordStore records, WorkerClaims claims) throws IOException {
    SessionRecords.Left left = run.records().read();
    List<Lost> lost = new ArrayList<>(left.lost());
    Map<SessionRecord, CompletableFuture<ClaimedWorker>> claiming = new LinkedHashMap<>();
    for (SessionRecord session : left.sessions()) {
      Optional<GrantRecord> lease = lease(session.lease(), records);
      if (lease.isEmpty()) {
        lost.add(SessionRecords.lost(session, "its lease is gone, or suspended"));
      } else if (!session.place().gpus().stream().allMatch(lease.get()::isOn)) {
        // It has moved, or has not; its other worker goes on.
        lost.add(SessionRecords.lost(session, "its lease is on another GPU"));
      } else if (!session.worker().process().isAlive()) {
        lost.add(SessionRecords.lost(session, "its worker is dead"));
      } else {
        claiming.put(session, claims.claim(session.worker(), session.keys().id()));
      }
    }
    claiming.forEach((session, claim) -> {
      try {
        add(session, claim.join());
      } catch (CompletionException e) {
        lost.add(SessionRecords.lost(session, reason(Objects.requireNonNullElse(e.getCause(), e))));
      } catch (IOException e) {
        lost.add(SessionRecords.lost(session, reason(e)));
      }
    });
    kill(lost);
    Set<String> sockets = new HashSet<>();
    claimed.keySet().forEach(session -> sockets.add(session.worker().socket()));
    Objects.requireNonNull(run.folder()).deleteSocketsBut(sockets);
  }

  private static String reason(Throwable failure) {
    return "its worker cannot be claimed: " + failure.getMessage();
  }

  /** Returns the record of a lease that goes on. */
  private static Optional<GrantRecord> lease(LeaseId lease, RecordStore records) {
    return records
        .get(RecordTypes.GRANTS, lease.text())
        .map(Versioned::value)
        .filter(grant -> !grant.isEnding())
        .filter(_ -> !isSaved(lease, records));
  }

  private static boolean isSaved(LeaseId lease, RecordStore records) {
    return records
        .get(RecordTypes.SUSPENSIONS, lease.text())
        .filter(suspension -> suspension.value().isSaved())
        .isPresent();
  }

  private void add(SessionRecord session, ClaimedWorker worker) throws IOException {
    usage.add(
        session.lease(),
        session.slot(),
        session.usage(),
        worker.files().ledger(),
        worker.files().schedule());
    claimed.put(session, worker);
  }

  /** Kills the workers of sessions that are lost and waits until they are dead. */
  private void kill(List<Lost> lost) throws IOException {
    lost.forEach(session -> session.worker().kill());
    long deadlineNanos = System.nanoTime() + DEATH_LIMIT_NANOS;
    for (Lost session : lost) {
      ProcessStart worker = session.worker();
      while (worker.isAlive()) {
        if (System.nanoTime() - deadlineNanos > 0) {
          throw new IOException(
              "worker "
                  + worker.pid()
                  + " of the server's former process cannot be killed; it may have memory of a GPU:"
                  + " end it, or restart the machine");
        }
        pause();
      }
      LOG.warn(
          "lease {} {}: lost with the server's former process: {}",
          session.lease(),
          session.name(),
          session.reason());
      usage.lose(session.lease());
      run.records().delete(session);
    }
  }

  private static void pause() throws IOException {
    try {
      Thread.sleep(LOOK_MILLIS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted", e);
    }
  }

  /** What the sessions have left of ledgers and schedules. */
  FormerUsage usage() {
    return usage;
  }

  /** Has the sessions go on whose leases do. Nobody can connect to the server yet. */
  void finish(Sessions sessions) throws IOException {
    List<Lost> lost = onControl(() -> restore(sessions));
    usage.close();
    kill(lost);
    if (!claimed.isEmpty()) {
      LOG.info(
          "took over {} of {} sessions of the server's former process",
          claimed.size() - lost.size(),
          claimed.size());
    }
  }

  private List<Lost> restore(Sessions sessions) {
    List<Lost> lost = new ArrayList<>();
    Map<Session, ClaimedWorker> restored = new LinkedHashMap<>();
    claimed.forEach((record, worker) ->
        sessions
            .restore(record)
            .ifPresentOrElse(
                session -> restored.put(session, worker),
                () -> lost.add(SessionRecords.lost(record, "its lease has other GPUs now"))));
    lost.forEach(session -> usage.lose(session.lease()));
    sessions.takeOver(restored, lease -> !usage.isWhole(lease.id()));
    return lost;
  }

  private <T> T onControl(Supplier<T> action) {
    return CompletableFuture.supplyAsync(action, control).join();
  }
}
