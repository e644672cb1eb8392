// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import io.gpupool.runtime.Timers;
import io.gpupool.server.identity.HolderName;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.lease.model.LeasedSession;
import io.gpupool.server.stream.CallStream;
import io.gpupool.server.worker.Worker;
import io.gpupool.server.worker.WorkerSession;
import io.gpupool.server.worker.WorkerStartQueue;
import io.gpupool.transport.Detaching;
import io.gpupool.wire.DriverEnvironment;
import io.gpupool.wire.ScheduleSlot;
import io.gpupool.wire.ServerHello;
import io.gpupool.wire.SessionId;
import io.gpupool.wire.SessionKey;
import io.gpupool.wire.TextMessage;
import io.netty.channel.unix.FileDescriptor;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.function.BiConsumer;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;
import org.slf4j.spi.LoggingEventBuilder;

/**
 * One program process on one lease, and the worker that serves it. Owned by the control thread.
 *
 * <pre>
 *   OPENING --handshake--> JOINING --stream handed over--> ATTACHED --> ENDING --worker dead--> gone
 * </pre>
 *
 * Every state can go to ENDING. There is no worker before the handshake, so that a session to which
 * nobody connects costs next to nothing.
 */
public final class Session implements LeasedSession, WorkerSession {
  public enum State {
    OPENING,
    JOINING,
    ATTACHED,
    ENDING
  }

  /** How long a program has to connect after its session was opened. */
  static final long CONNECT_LIMIT_MILLIS = 15_000;

  /** How long it waits for others' workers to start; a program waits a little longer. */
  private static final long START_LIMIT_MILLIS = 60_000;

  private static final Logger LOG = LoggerFactory.getLogger(Session.class);

  private final SessionId id;
  private final SessionKey key;
  private final SessionKey peerKey;
  private final Lease lease;
  private final int slot;
  private final HolderName client;
  private final DriverEnvironment environment;
  private final Principal principal;
  private final long openedAtNanos;

  /** What the lease had been granted of each of its GPUs when this was opened. */
  private final List<Long> grantedBefore;

  private final WorkerStartQueue starts;
  private final Timers timers;
  private final Executor control;
  private final BiConsumer<Session, TextMessage> onPeerAsked;
  private final LeaseExports exports;
  private final SessionCache cache;
  private final Runnable onGone;

  /** Wait until its program is connected, or never will be. */
  private final List<Runnable> onJoined = new ArrayList<>();

  /** Links of its program with which its worker is connected, or was. */
  private final Set<Integer> peers = new HashSet<>();

  private final Timers.Cancellable connectTimer;
  private Timers.Cancellable startTimer = () -> {};
  private Timers.Cancellable start = () -> {};
  private @Nullable Worker worker;
  private @Nullable CallStream joining;
  private State state = State.OPENING;
  private SessionStats stats = SessionStats.NONE;

  Session(
      SessionKeys keys,
      Lease lease,
      int slot,
      SessionProgram program,
      SessionServices services,
      LeaseExports exports,
      Runnable onGone) {
    id = keys.id();
    key = keys.key();
    peerKey = keys.peerKey();
    this.lease = lease;
    this.slot = slot;
    client = program.name();
    environment = program.environment();
    principal = program.principal();
    starts = services.starts();
    timers = services.timers();
    control = services.control();
    onPeerAsked = services.onPeerAsked();
    cache = services.cache();
    this.exports = exports;
    this.onGone = onGone;
    openedAtNanos = timers.nowNanos();
    grantedBefore =
        IntStream.range(0, lease.topology().own().size())
            .mapToObj(part -> lease.time().grantedNanos(part, openedAtNanos))
            .toList();
    connectTimer = timers.after(CONNECT_LIMIT_MILLIS, () -> end("its program never connected"));
  }

  public SessionId id() {
    return id;
  }

  public SessionKey key() {
    return key;
  }

  /** The key that opens connections of the program's workers at other servers. */
  public SessionKey peerKey() {
    return peerKey;
  }

  public Lease lease() {
    return lease;
  }

  /** The process that opened the session. */
  public HolderName client() {
    return client;
  }

  /** The principal that opened the session. */
  Principal principal() {
    return principal;
  }

  /** Links of its program with which its worker is connected, or was. */
  Set<Integer> peers() {
    return peers;
  }

  public long openedAtNanos() {
    return openedAtNanos;
  }

  /** What its lease's share of a GPU's time comes to since it was opened. */
  public long grantedNanos(int part, long nowNanos) {
    return Math.max(0, lease.time().grantedNanos(part, nowNanos) - grantedBefore.get(part));
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
    return stats.waiting();
  }

  /** The program has connected and proved that it is the one. */
  void join(CallStream stream, int version) {
    if (state != State.OPENING) {
      stream.refuse(
          ServerHello.refused(ServerHello.BAD_SESSION, "the session is connected or has ended"));
      return;
    }
    state = State.JOINING;
    joining = stream;
    connectTimer.cancel();
    startTimer =
        timers.after(
            START_LIMIT_MILLIS, () -> end("no worker could be started for it; try again later"));
    start = starts.take(lease.tenant(), environment, taken -> begin(taken, stream, version));
  }

  private void begin(Worker taken, CallStream stream, int version) {
    startTimer.cancel();
    worker = taken;
    taken.assign(this, assignment(taken), List.of(lease.ledger()::share, lease.time()::share));
    taken.whenLinked(() -> {
      if (state != State.JOINING) {
        return;
      }
      joining = null;
      stream
          .accept(ServerHello.accepted(version))
          .whenComplete((fd, failure) -> control.execute(() -> accepted(fd, failure)));
    });
  }

  /** Runs once it is certain whether the program is connected. */
  void whenJoined(Runnable action) {
    if (state == State.JOINING) {
      onJoined.add(action);
    } else {
      action.run();
    }
  }

  private void runOnJoined() {
    List<Runnable> actions = List.copyOf(onJoined);
    onJoined.clear();
    actions.forEach(Runnable::run);
  }

  @Override
  public void onMessage(TextMessage message) {
    switch (message.type()) {
      case "stats" -> {
        stats = stats.next(message, timers.nowNanos());
        lease.time().note(timers.nowNanos());
        lease.noteWork(timers.nowNanos());
      }
      case "peer" -> {
        if (state == State.ATTACHED) {
          onPeerAsked.accept(this, message);
        }
      }
      case "share" -> exports.onMessage(this, message);
      case "cache" -> cache.onMessage(worker(), lease.tenant(), message);
      case "ended" -> end(HolderName.plain(message.get("reason").orElse("the worker ended it")));
      default -> LOG.debug("lease {} session {}: worker says {}", lease.id(), id.brief(), message);
    }
  }

  /** Ends the session; it is gone when its worker is dead. */
  @Override
  public void end(String reason) {
    if (state == State.ENDING) {
      return;
    }
    sessionLog(Level.INFO).log("lease {} session {} ends: {}", lease.id(), id.brief(), reason);
    state = State.ENDING;
    connectTimer.cancel();
    refuseJoining("the session has ended: " + reason);
    runOnJoined();
    startTimer.cancel();
    start.cancel();
    // Later, as with a worker: whoever ends a lease goes through its sessions just now.
    if (worker != null) {
      worker.end();
    } else {
      control.execute(onGone);
    }
  }

  @Override
  public void workerExited(int status) {
    connectTimer.cancel();
    if (state != State.ENDING) {
      state = State.ENDING;
      String reason = status == 0 ? "its program has left" : "its worker died, status " + status;
      if (status == 0) {
        sessionLog(Level.INFO).log("lease {} session {} ends: {}", lease.id(), id.brief(), reason);
      } else {
        LOG.error("lease {} session {} ends: {}", lease.id(), id.brief(), reason);
      }
      refuseJoining(reason + "; see the server's log");
      runOnJoined();
    }
    onGone.run();
  }

  private void accepted(FileDescriptor stream, Throwable failure) {
    if (failure != null) {
      end("its program's connection broke: " + failure.getMessage());
    } else if (state == State.JOINING) {
      state = State.ATTACHED;
      sessionLog(Level.INFO)
          .log(
              "lease {} session {}: {} attached to worker {}",
              lease.id(),
              id.brief(),
              client,
              workerPid());
      worker().attach(stream);
      runOnJoined();
    } else {
      Detaching.closeQuietly(stream);
    }
  }

  /** A line of the log that has session, lease and tenant as fields, too. */
  private LoggingEventBuilder sessionLog(Level level) {
    return LOG.atLevel(level)
        .addKeyValue("session", id.toString())
        .addKeyValue("lease", lease.id().text())
        .addKeyValue("tenant", lease.tenant());
  }

  private void refuseJoining(String reason) {
    if (joining != null) {
      joining.refuse(ServerHello.refused(ServerHello.INTERNAL, reason));
    }
    joining = null;
  }

  private TextMessage assignment(Worker taken) {
    return TextMessage.ofType("assign")
        .putIfPresent("visible", taken.seesAssigned ? uuids() : null)
        .put(
            "uuids",
            lease.topology().own().stream()
                .map(part -> part.gpu().uuid())
                .collect(Collectors.joining(",")))
        .putIfPresent("threads", taken.seesAssigned ? smallestPart() : null)
        .put("session", id.toString())
        .put("lease", lease.id().text())
        .put("program", client.toString())
        .put("environment", environment.text())
        .put("slot", slot)
        .put("inbox", 1)
        .put("addressSlot", Objects.requireNonNull(lease.topology().place()))
        .putIfPresent("leaseSlots", text(lease.time().leaseSlots(slot)))
        .putIfPresent("programSlots", text(lease.time().programSlots(slot)))
        .put(
            "gpus",
            lease.topology().own().stream()
                .map(part ->
                    part.gpu().ordinal()
                        + ":"
                        + part.share().memoryBytes()
                        + ":"
                        + Math.max(1, Math.round(part.share().computePercent())))
                .collect(Collectors.joining(",")))
        .build();
  }

  private static @Nullable String text(List<ScheduleSlot> places) {
    return places.isEmpty()
        ? null
        : places.stream().map(ScheduleSlot::toString).collect(Collectors.joining(","));
  }

  private String uuids() {
    return lease.parts().stream().map(part -> part.gpu().uuid()).collect(Collectors.joining(","));
  }

  /** MPS has one figure for all GPUs of a process. */
  private String smallestPart() {
    double percent =
        lease.parts().stream().mapToDouble(part -> part.share().computePercent()).min().orElse(100);
    return Long.toString(Math.max(1, Math.round(percent)));
  }
}
