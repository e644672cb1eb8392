// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import io.gpupool.runtime.Timers;
import io.gpupool.server.identity.HolderName;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.identity.SessionKeys;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.lease.model.LeasedSession;
import io.gpupool.server.metrics.Metric;
import io.gpupool.server.metrics.ServerMetrics;
import io.gpupool.server.stream.CallStream;
import io.gpupool.server.worker.ClaimedWorker;
import io.gpupool.server.worker.Worker;
import io.gpupool.server.worker.WorkerSession;
import io.gpupool.transport.Detaching;
import io.gpupool.wire.ElapsedTime;
import io.gpupool.wire.SealSecret;
import io.gpupool.wire.ServerHello;
import io.gpupool.wire.SessionId;
import io.gpupool.wire.SessionKey;
import io.gpupool.wire.TextMessage;
import io.netty.channel.unix.FileDescriptor;
import java.security.SecureRandom;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One program process on one lease, and the worker that serves it. Owned by the control thread.
 *
 * <pre>
 *   OPENING --handshake--> JOINING --stream handed over--> ATTACHED --> ENDING --worker dead--> gone
 *                                                          |      ^
 *                                            stream broken |      | another one handed over
 *                                                          v      |
 *                                                        DISCONNECTED
 * </pre>
 *
 * Every state can go to ENDING. There is no worker before the handshake, so that a session to which
 * nobody connects costs next to nothing. A session without a resume window is never DISCONNECTED:
 * it ends with its stream.
 */
public final class Session implements LeasedSession, WorkerSession {
  public enum State {
    OPENING,
    JOINING,
    ATTACHED,
    /** Its program's connection is lost; the worker waits for another. */
    DISCONNECTED,
    ENDING
  }

  private static final Logger LOG = LoggerFactory.getLogger(Session.class);

  private final SessionKeys keys;
  private final SessionId id;
  private final Lease lease;
  private final int slot;
  private final SessionProgram program;
  private final SessionPast past;
  private final SessionJoining joining;
  private final SessionRecording recording;
  private final Timers timers;
  private final Executor control;
  private final BiConsumer<Session, TextMessage> onConnection;
  private final LeaseExports exports;
  private final SessionCache cache;
  private final ServerMetrics metrics;
  private final Resumption resumption;
  private final Consumer<Session> onGone;

  private final PeerAttempts peers = new PeerAttempts();

  private @Nullable Worker worker;

  /** Of the first connection; null: it is not sealed, or has been made. */
  private @Nullable StreamSeal seal;

  /** How many connections of its program came after the first. */
  private int laterStreams;

  private State state = State.OPENING;
  private SessionStats stats = SessionStats.NONE;

  /** Makes a session that is to wait for its program, or to be taken over. */
  Session(
      SessionKeys keys,
      Lease lease,
      int slot,
      SessionProgram program,
      SessionServices services,
      LeaseExports exports,
      Consumer<Session> onGone,
      SessionPast past) {
    this.keys = keys;
    id = keys.id();
    this.lease = lease;
    this.slot = slot;
    this.program = program;
    joining = new SessionJoining(services.starts(), services.timers());
    recording = new SessionRecording(services.records(), services.timers());
    timers = services.timers();
    control = services.control();
    onConnection = services.onConnection();
    cache = services.cache();
    metrics = services.metrics();
    resumption = new Resumption(lease.resumeWindowMillis(), timers);
    this.exports = exports;
    this.onGone = onGone;
    this.past = past;
  }

  /** Waits for its program. */
  void awaitProgram() {
    joining.awaitProgram(this::end);
  }

  /** Goes on with the worker that it had with the server's former process. */
  void takeOver(ClaimedWorker claimed) {
    worker = claimed.worker();
    state = State.ATTACHED;
    recording.found();
    claimed
        .goneMillis()
        .filter(_ -> resumption.isPossible())
        .ifPresent(millis -> {
          state = State.DISCONNECTED;
          resumption.lost(claimed.reason(), this::end, millis);
        });
    metrics.add(Metric.SESSIONS_TAKEN_OVER, 1, lease.tenant());
    log(": took over worker " + workerPid() + " of " + client() + " (" + state + ")");
  }

  public SessionId id() {
    return id;
  }

  SessionKeys keys() {
    return keys;
  }

  public SessionKey key() {
    return keys.key();
  }

  /** The key that opens connections of the program's workers at other servers. */
  public SessionKey peerKey() {
    return keys.peerKey();
  }

  public Lease lease() {
    return lease;
  }

  /** The process that opened the session. */
  public HolderName client() {
    return program.name();
  }

  SessionProgram program() {
    return program;
  }

  /** Has the program's first connection sealed. */
  void seal(StreamSeal first) {
    seal = first;
  }

  /** Returns whether the first connection is to be sealed. */
  boolean isSealed() {
    return seal != null;
  }

  /** Returns whether a key opens the first connection. */
  boolean isOpenedBy(SessionKey shown) {
    return (seal == null ? key() : seal.key()).matches(shown);
  }

  /** Returns its resume window and the key to its next connection. */
  Resumption resumption() {
    return resumption;
  }

  /** Returns the connections of its worker with those of its program's other links. */
  PeerAttempts peers() {
    return peers;
  }

  public long openedAtNanos() {
    return past.openedAtNanos();
  }

  /** What its lease's share of a GPU's time comes to since it was opened. */
  public long grantedNanos(int part, long nowNanos) {
    return Math.max(0, lease.time().grantedNanos(part, nowNanos) - past.grantedBefore().get(part));
  }

  /** Process id of its worker; 0: it has none yet. */
  public int workerPid() {
    return worker == null ? 0 : worker.pid().orElse(0);
  }

  /** Returns the worker of a session whose program has connected. */
  Worker worker() {
    return Objects.requireNonNull(worker);
  }

  public State state() {
    return state;
  }

  /** Returns whether a worker serves its program, even if that is not connected just now. */
  public boolean isServed() {
    return state == State.ATTACHED || state == State.DISCONNECTED;
  }

  /** Returns whether it outlives its connection. */
  public boolean canResume() {
    return resumption.isPossible();
  }

  /** How long it outlives its connection; 0: not at all. */
  public long resumeWindowMillis() {
    return resumption.windowMillis();
  }

  /** How much longer a session that is disconnected can be resumed; empty: it is connected. */
  public Optional<Long> resumeMillisLeft() {
    return resumption.millisLeft();
  }

  public SessionStats stats() {
    return stats;
  }

  @Override
  public int slot() {
    return slot;
  }

  @Override
  public long calls() {
    return stats.calls().total();
  }

  @Override
  public boolean isWaiting() {
    return state != State.DISCONNECTED && stats.waiting();
  }

  /** The program has connected and proved that it is the one. */
  void join(CallStream stream, int version) {
    if (state != State.OPENING) {
      stream.refuse(
          ServerHello.refused(ServerHello.BAD_SESSION, "the session is connected or has ended"));
      return;
    }
    state = State.JOINING;
    joining.awaitWorker(
        stream,
        lease.tenant(),
        program.environment(),
        taken -> begin(taken, stream, version),
        this::end);
  }

  private void begin(Worker taken, CallStream stream, int version) {
    assign(taken, this, false);
    taken.whenLinked(() -> {
      if (state != State.JOINING) {
        return;
      }
      joining.answered();
      stream
          .accept(ServerHello.accepted(version), resumption.isPossible())
          .whenComplete(
              (fd, failure) -> control.execute(() -> accepted(fd, stream.isLocal(), failure)));
    });
  }

  /**
   * Takes a worker and gives it its assignment.
   *
   * @param serving what the worker serves for now: the session, or its arrival
   * @param restores whether the worker is to restore what it had at another one
   */
  void assign(Worker taken, WorkerSession serving, boolean restores) {
    worker = taken;
    taken.assign(
        serving,
        SessionAssignment.message(this, taken, restores),
        List.of(lease.ledger()::share, lease.time()::share));
  }

  /** Leaves a record for the server's next process. */
  void record() {
    recording.write(this, past);
  }

  /** Goes on with the worker that has restored it; its program has to come back for this cause. */
  void arrive(String cause) {
    worker().serve(this);
    state = State.DISCONNECTED;
    record();
    resumption.lost(cause, this::end);
  }

  /** Ends here, as it is elsewhere now; nothing is told to its program. */
  void leave(String reason) {
    recording.delete(this);
    end(reason);
  }

  /** Runs once it is certain whether the program is connected. */
  void whenJoined(Runnable action) {
    if (state == State.JOINING) {
      joining.whenOver(action);
    } else {
      action.run();
    }
  }

  /** Makes the key to one more connection; empty: the session ends, as there were too many. */
  Optional<SessionKey> nextResumeKey(SecureRandom random, Principal caller) {
    Optional<SessionKey> key = resumption.nextKey(random, caller);
    if (key.isEmpty()) {
      end(Resumption.TOO_MANY);
    }
    return key;
  }

  /** Uses up the key to one more connection, and returns it; empty: it is not the right one. */
  Optional<Resumption.Key> consumeResumeKey(SessionKey shown) {
    return isServed() ? resumption.consume(shown) : Optional.empty();
  }

  /**
   * The program has connected once more. The worker turns to it from its former connection.
   *
   * @param secret with which the connection is sealed unless it is local; null: it is not
   */
  void rejoin(CallStream stream, int version, @Nullable SealSecret secret) {
    int number = ++laterStreams;
    stream
        .accept(ServerHello.accepted(version), resumption.isPossible())
        .whenComplete((fd, failure) ->
            control.execute(() -> accepted(number, fd, stream.isLocal(), secret, failure)));
  }

  /** A later one may have been faster; then the program has given this one up. */
  private void accepted(
      int number,
      FileDescriptor stream,
      boolean local,
      @Nullable SealSecret secret,
      Throwable failure) {
    if (failure != null) {
      log(": its program's connection broke before it was resumed: " + failure.getMessage());
    } else if (isServed() && number == laterStreams) {
      worker().attach(stream, local, secret);
      resumption.offered(this::end);
    } else {
      Detaching.closeQuietly(stream);
    }
  }

  @Override
  public void onMessage(TextMessage message) {
    switch (message.type()) {
      case "stats" -> {
        stats = stats.next(message, timers.nowNanos());
        lease.time().note(timers.nowNanos());
        lease.noteWork(timers.nowNanos());
      }
      case "peer", "rank", "moved", "moveFailed" -> onConnection.accept(this, message);
      case "disconnected" -> disconnected(message);
      case "resumed" -> resumed();
      case "share" -> exports.onMessage(this, message);
      case "cache" -> cache.onMessage(worker(), lease.tenant(), message);
      case "ended" -> end(HolderName.plain(message.get("reason").orElse("the worker ended it")));
      default -> LOG.debug("lease {} session {}: worker says {}", lease.id(), id.brief(), message);
    }
  }

  private void disconnected(TextMessage message) {
    if (state != State.ATTACHED || !resumption.isPossible()) {
      return;
    }
    String cause = HolderName.plain(message.get("reason").orElse("unknown"));
    state = State.DISCONNECTED;
    resumption.lost(cause, this::end);
    metrics.add(Metric.SESSION_DISCONNECTS, 1, lease.tenant());
    ElapsedTime window = new ElapsedTime(resumption.windowMillis());
    log(
        ": lost the connection to %s (%s), which may come back within %s"
            .formatted(client(), cause, window));
  }

  /** The worker need not have noticed before that the former connection was lost. */
  private void resumed() {
    if (!isServed() || !resumption.isPossible()) {
      return;
    }
    if (state == State.ATTACHED) {
      metrics.add(Metric.SESSION_DISCONNECTS, 1, lease.tenant());
    }
    log(": " + client() + " is connected again after " + resumption.lostFor());
    state = State.ATTACHED;
    resumption.over();
    metrics.add(Metric.SESSION_RESUMES, 1, lease.tenant());
  }

  /** Forgets it: its worker is dead. */
  void forget() {
    recording.delete(this);
  }

  /** Ends the session; it is gone when its worker is dead. */
  @Override
  public void end(String reason) {
    if (state == State.ENDING) {
      return;
    }
    log(" ends: " + reason);
    state = State.ENDING;
    resumption.over();
    joining.end("the session has ended: " + reason);
    // Later, as with a worker: whoever ends a lease goes through its sessions just now.
    if (worker != null) {
      worker.end();
    } else {
      control.execute(() -> onGone.accept(this));
    }
  }

  @Override
  public void workerExited(@Nullable Integer status) {
    resumption.over();
    if (state != State.ENDING) {
      state = State.ENDING;
      boolean expected = status == null || status == 0;
      String reason =
          status == null
              ? "its worker has exited"
              : expected ? "its program has left" : "its worker died, status " + status;
      if (expected) {
        log(" ends: " + reason);
      } else {
        LOG.error("lease {} session {} ends: {}", lease.id(), id.brief(), reason);
      }
      joining.end(reason + "; see the server's log");
    }
    onGone.accept(this);
  }

  private void accepted(FileDescriptor stream, boolean local, Throwable failure) {
    if (failure != null) {
      end("its program's connection broke: " + failure.getMessage());
    } else if (state == State.JOINING) {
      state = State.ATTACHED;
      String how = local ? " over a local socket" : "";
      log(": " + client() + " attached to worker " + workerPid() + how);
      // Before the program can do anything that would be lost without it.
      record();
      worker().attach(stream, local, seal == null ? null : seal.secret());
      seal = null;
      joining.over();
    } else {
      Detaching.closeQuietly(stream);
    }
  }

  /** Logs a line that has session, lease and tenant as fields, too. */
  private void log(String text) {
    LOG.atInfo()
        .addKeyValue("session", id.toString())
        .addKeyValue("lease", lease.id().text())
        .addKeyValue("tenant", lease.tenant())
        .log("lease {} session {}{}", lease.id(), id.brief(), text);
  }

  @Override
  public void outliveServer(Runnable leave) {
    joining.serverStops(() -> {
      if (recording.isThere() && isServed()) {
        leave.run();
      } else {
        end("the server is stopping");
      }
    });
  }
}
