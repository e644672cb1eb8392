// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import io.gpupool.runtime.Timers;
import io.gpupool.server.identity.HolderName;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.identity.SessionKeys;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.lease.lifecycle.LeaseService;
import io.gpupool.server.metrics.Metric;
import io.gpupool.server.metrics.ServerMetrics;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.rejection.InvalidRequestException;
import io.gpupool.server.stream.CallStream;
import io.gpupool.server.takeover.SessionRecord;
import io.gpupool.server.tenant.Tokens;
import io.gpupool.server.tls.TlsGate;
import io.gpupool.server.worker.ClaimedWorker;
import io.gpupool.server.worker.WorkerPool;
import io.gpupool.server.worker.WorkerStartQueue;
import io.gpupool.wire.ClientHello;
import io.gpupool.wire.DriverEnvironment;
import io.gpupool.wire.SealSecret;
import io.gpupool.wire.ServerHello;
import io.gpupool.wire.SessionId;
import io.gpupool.wire.SessionKey;
import io.gpupool.wire.TextMessage;
import io.gpupool.wire.Versions;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The sessions of this server. Owned by the control thread. */
public final class Sessions {
  private static final Logger LOG = LoggerFactory.getLogger(Sessions.class);

  private static final ServerHello NOT_OF_PROGRAM =
      ServerHello.refused(
          ServerHello.BAD_SESSION, "workers of other servers connect to the call-stream port");

  private final LeaseService leases;
  private final Tokens tokens;
  private final Timers timers;
  private final SessionAdmission admission;
  private final PeerConnector peers;
  private final SessionMoves moves;
  private final SessionSuspensions suspensions;
  private final CommunicatorRanks ranks;
  private final SessionServices services;
  private final SecureRandom random = new SecureRandom();
  private final Map<SessionId, Session> sessions = new LinkedHashMap<>();
  private final Map<Lease, LeaseExports> exports = new HashMap<>();

  /** Makes the sessions of a server, none yet. */
  public Sessions(
      LeaseService leases,
      Tokens tokens,
      WorkerPool workers,
      Timers timers,
      Executor control,
      ServerDialer dialer,
      SessionOptions options,
      SessionFiles files) {
    this.leases = leases;
    this.tokens = tokens;
    this.timers = timers;
    admission = new SessionAdmission(options.limits(), options.memory(), timers);
    peers = new PeerConnector(dialer, timers, control);
    moves = new SessionMoves(this, leases, dialer, timers, control);
    suspensions = new SessionSuspensions(this, leases, timers, control, files);
    String server = leases.store().server();
    ranks =
        new CommunicatorRanks(
            leases.store().communicators(),
            server,
            new WorkerDialer(server, dialer, this),
            timers,
            control);
    services =
        new SessionServices(
            new WorkerStartQueue(workers, options.limits().workerStarts()),
            timers,
            control,
            this::onConnection,
            new SessionCache(options.files(), control, files.disk()),
            leases.metrics(),
            files.records());
  }

  /** The moves of sessions to other GPUs. */
  public SessionMoves moves() {
    return moves;
  }

  /** Begins to connect the ranks of communicators. */
  public void startRanks() {
    ranks.start();
  }

  /** The suspensions of sessions. */
  public SessionSuspensions suspensions() {
    return suspensions;
  }

  /** Returns whether sessions of a lease are about to leave this server's GPU. */
  public boolean isLeaving(Lease lease) {
    return moves.isLeaving(lease) || suspensions.isSaving(lease.id());
  }

  /** Has an action run when sessions of a lease do not leave any more, or have left. */
  public void whenSettled(LeaseId lease, Runnable action) {
    if (suspensions.isSaving(lease)) {
      suspensions.whenSettled(lease, action);
    } else {
      moves.whenSettled(lease, action);
    }
  }

  private void onConnection(Session session, TextMessage message) {
    switch (message.type()) {
      case "peer" -> {
        if (session.isServed()) {
          peers.ask(session, message);
        }
      }
      case "rank" -> ranks.onMessage(session, message);
      default -> {
        moves.onMessage(session, message);
        suspensions.onMessage(session, message);
      }
    }
  }

  /** Opens a session on a lease that is not ending, if it is within all limits. */
  public Session open(
      Lease lease, HolderName client, Principal principal, DriverEnvironment environment)
      throws InvalidRequestException {
    admit(lease);
    int slot = lease.freeSlot().orElseThrow();
    SessionKeys keys = SessionKeys.random(random);
    Session session =
        new Session(
            keys,
            lease,
            slot,
            new SessionProgram(client, environment, principal),
            services,
            exportsOf(lease),
            this::gone,
            SessionPast.none(lease, timers.nowNanos()));
    sessions.put(keys.id(), session);
    session.awaitProgram();
    leases.metrics().add(Metric.SESSIONS_OPENED, 1, lease.tenant());
    lease.add(session);
    return session;
  }

  private void admit(Lease lease) throws InvalidRequestException {
    try {
      admission.admit(lease, sessions.values());
    } catch (InvalidRequestException e) {
      leases.metrics().add(Metric.SESSIONS_REFUSED, 1, lease.tenant());
      throw e;
    }
  }

  /**
   * Makes a session that moves here. It is not among the sessions until {@link #add}.
   *
   * @param onGone hears that its worker is dead
   */
  Session expect(Lease lease, MovingSession moving, Runnable onGone)
      throws InvalidRequestException {
    admit(lease);
    Session session =
        new Session(
            moving.keys(),
            lease,
            lease.freeSlot().orElseThrow(),
            moving.program(),
            services,
            exportsOf(lease),
            dead -> {
              gone(dead);
              onGone.run();
            },
            moving.past(lease, timers));
    lease.add(session);
    return session;
  }

  /** Adds a session that has moved here; another one of its name is one that it leaves. */
  void add(Session session) {
    sessions.put(session.id(), session);
  }

  /** Returns the sessions of a lease, whatever their states. */
  List<Session> of(Lease lease) {
    return sessions.values().stream().filter(session -> session.lease() == lease).toList();
  }

  WorkerStartQueue starts() {
    return services.starts();
  }

  private LeaseExports exportsOf(Lease lease) {
    return exports.computeIfAbsent(lease, of -> new LeaseExports(of, random));
  }

  /**
   * Takes over a session of the server's former process, without its worker yet.
   *
   * @return empty: its lease is gone, or has other parts of the GPUs now
   */
  public Optional<Session> restore(SessionRecord record) {
    Optional<Lease> found =
        leases
            .get(record.lease())
            .filter(lease -> lease.state().isAlive() && !lease.isRemote())
            .filter(lease ->
                lease
                    .usage(record.slot(), timers.nowNanos(), timers.wallMillis())
                    .isOf(record.usage()));
    return found.map(lease -> {
      Session session =
          new Session(
              record.keys(),
              lease,
              record.slot(),
              new SessionProgram(record.client(), DriverEnvironment.NONE, record.principal()),
              services,
              exportsOf(lease),
              this::gone,
              SessionPast.of(record.past(), timers));
      sessions.put(record.keys().id(), session);
      lease.addTakenOver(session);
      return session;
    });
  }

  /**
   * Gives sessions that were restored their workers.
   *
   * @param hasLosses whether a session of a lease is lost
   */
  public void takeOver(Map<Session, ClaimedWorker> restored, Predicate<Lease> hasLosses) {
    restored.forEach(Session::takeOver);
    restored.forEach((session, claimed) -> {
      LeaseExports shared = exportsOf(session.lease());
      claimed.repeated().forEach(message -> shared.repeat(session, message));
    });
    restored.keySet().stream()
        .map(Session::lease)
        .distinct()
        .forEach(lease -> exportsOf(lease).repeated(hasLosses.test(lease)));
    restored.forEach((session, claimed) -> claimed.serving().accept(session));
  }

  public Optional<Session> find(SessionId id, SessionKey key) {
    return Optional.ofNullable(sessions.get(id)).filter(session -> session.key().matches(key));
  }

  /** Returns whether a session is here and has not ended, whosever it is. */
  public boolean serves(SessionId id) {
    Session session = sessions.get(id);
    return session != null && session.state() != Session.State.ENDING;
  }

  /**
   * Makes the key to one more connection of a session that is served, in place of an earlier one.
   *
   * @param principal the caller, whose right counts when the program connects
   * @return empty: the session ends, as it was resumed too often
   */
  public Optional<SessionKey> resume(Session session, Principal principal) {
    return session.nextResumeKey(random, principal);
  }

  /** Has the first connection of a session that was just opened sealed. */
  public StreamSeal seal(Session session) {
    StreamSeal seal = StreamSeal.random(random);
    session.seal(seal);
    return seal;
  }

  /** Has the connection sealed for which a session was just given a key. */
  public SealSecret sealNext(Session session) {
    SealSecret secret = SealSecret.random(random);
    session.resumption().seal(secret);
    return secret;
  }

  public List<Session> all() {
    return new ArrayList<>(sessions.values());
  }

  /** Lets a program that has connected into its session, or tells it why not. */
  public void join(ClientHello hello, CallStream stream) {
    int version = Versions.agree(hello.versionMin(), hello.versionMax());
    if (version == 0) {
      stream.refuse(
          ServerHello.refused(
              ServerHello.BAD_VERSION,
              "this server speaks call-stream versions "
                  + Versions.CALL_STREAM_MIN
                  + " to "
                  + Versions.CALL_STREAM_MAX
                  + ", the client "
                  + hello.versionMin()
                  + " to "
                  + hello.versionMax()
                  + "; install the same gpupool version on both sides"));
      return;
    }
    if (hello.peerLink().isPresent() || hello.hasMessage()) {
      if (stream.isLocal()) {
        stream.refuse(NOT_OF_PROGRAM);
        return;
      }
      if (stream.needsSeal()) {
        stream.refuse(TlsGate.NO_TLS);
        return;
      }
      switch (hello.purpose()) {
        case MOVE -> moves.accept(hello, stream, version);
        case RANK -> ranks.accept(hello, stream, version);
        default -> joinAsPeer(hello, stream, version);
      }
      return;
    }
    if (hello.resumes()) {
      joinAgain(hello, stream, version);
      return;
    }
    Session session = sessions.get(hello.session());
    if (stream.needsSeal() && (session == null || !session.isSealed())) {
      stream.refuse(TlsGate.NO_TLS);
    } else if (session == null || !session.isOpenedBy(hello.key())) {
      stream.refuse(
          ServerHello.refused(
              ServerHello.BAD_SESSION,
              "no such session; it may have ended before the program connected"));
    } else {
      join(session, stream, version);
    }
  }

  /** The key is the only proof, and told to those alone who opened the session. */
  private void joinAsPeer(ClientHello hello, CallStream stream, int version) {
    Session session = sessions.get(hello.session());
    if (session == null || !session.peerKey().matches(hello.key())) {
      LOG.warn(
          "a peer connection to session {} is refused: {}",
          hello.session().brief(),
          session == null ? "there is no such session" : "it has another peer key");
      stream.refuse(
          ServerHello.refused(
              ServerHello.BAD_SESSION, "no such session, or it has another peer key"));
    } else if (!tokens.stillHolds(session.program().principal())) {
      stream.refuse(
          ServerHello.refused(
              ServerHello.DENIED,
              "the token has expired or was revoked since the session was opened"));
    } else {
      peers.accept(session, hello, stream, version);
    }
  }

  private void join(Session session, CallStream stream, int version) {
    if (tokens.stillHolds(session.program().principal())) {
      session.join(stream, version);
    } else {
      deny(session, stream, "opened");
    }
  }

  /** The right of the caller counts that has asked for the key: of now, not of the beginning. */
  private void joinAgain(ClientHello hello, CallStream stream, int version) {
    Session session = sessions.get(hello.session());
    Optional<Resumption.Key> key =
        session == null ? Optional.empty() : session.consumeResumeKey(hello.key());
    if (session == null || key.isEmpty()) {
      stream.refuse(
          ServerHello.refused(
              ServerHello.BAD_SESSION,
              "no such session, or its resume key was used, replaced or not used for "
                  + Resumption.KEY_LIMIT_MILLIS / 1000
                  + " s"));
    } else if (stream.needsSeal() && key.get().secret() == null) {
      stream.refuse(TlsGate.NO_TLS);
    } else if (tokens.stillHolds(key.get().caller())) {
      session.rejoin(stream, version, key.get().secret());
    } else {
      deny(session, stream, "resumed");
    }
  }

  private static void deny(Session session, CallStream stream, String since) {
    stream.refuse(
        ServerHello.refused(
            ServerHello.DENIED,
            "the token has expired or was revoked since the session was " + since));
    session.end("its token is valid no more");
  }

  /** Counts what a session has done, as its worker last told. */
  public static void countCalls(ServerMetrics metrics, Session session) {
    SessionStats stats = session.stats();
    String tenant = session.lease().tenant();
    metrics.add(Metric.SESSION_CALLS, stats.calls().fenced(), tenant, "fenced");
    metrics.add(
        Metric.SESSION_CALLS, stats.calls().total() - stats.calls().fenced(), tenant, "posted");
    metrics.add(Metric.RECEIVED_BYTES, stats.traffic().receivedBytes(), tenant);
    metrics.add(Metric.SENT_BYTES, stats.traffic().sentBytes(), tenant);
    metrics.add(Metric.PEER_RECEIVED_BYTES, stats.traffic().peerReceivedBytes(), tenant);
    metrics.add(Metric.PEER_SENT_BYTES, stats.traffic().peerSentBytes(), tenant);
    metrics.add(Metric.MEMORY_REFUSED, stats.memory().refused(), tenant);
  }

  private void gone(Session session) {
    sessions.remove(session.id(), session);
    session.forget();
    ranks.gone(session);
    countCalls(leases.metrics(), session);
    LeaseExports shared = exports.get(session.lease());
    if (shared != null) {
      shared.gone(session);
      if (session.lease().sessions().size() == 1) {
        exports.remove(session.lease());
        shared.close();
      }
    }
    leases.sessionGone(session.lease(), session);
  }
}
