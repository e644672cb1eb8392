// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.assignment;

import io.gpupool.cuda.Backend;
import io.gpupool.wire.TextMessage;
import io.gpupool.wire.WireException;
import io.gpupool.worker.connection.ProgramConnection;
import io.gpupool.worker.control.CacheLink;
import io.gpupool.worker.control.ControlLink;
import io.gpupool.worker.control.Departure;
import io.gpupool.worker.control.KernelOutput;
import io.gpupool.worker.control.ServerExchange;
import io.gpupool.worker.gpu.GpuIdentity;
import io.gpupool.worker.move.MoveSource;
import io.gpupool.worker.move.MoveTarget;
import io.gpupool.worker.os.ServerFile;
import io.gpupool.worker.os.TcpWatch;
import io.gpupool.worker.peer.PeerAddress;
import io.gpupool.worker.peer.PeerConnections;
import io.gpupool.worker.session.OtherSessions;
import io.gpupool.worker.session.ResumeWindow;
import io.gpupool.worker.session.Session;
import io.gpupool.worker.session.SessionCounters;
import io.gpupool.worker.session.SessionPlan;
import io.gpupool.worker.session.collective.RankDirectory;
import io.gpupool.worker.session.journal.RestoreException;
import io.gpupool.worker.session.quota.LeasedGpu;
import io.gpupool.worker.session.quota.Ledger;
import io.gpupool.worker.slicer.SessionTimeSlice;
import java.io.IOException;
import java.util.List;
import java.util.StringJoiner;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The one session of this worker: starts when it is assigned, attached and the backend is ready,
 * and takes the process with it when it ends. Called by the control thread.
 */
public final class AssignedSession {
  private final ControlLink control;
  private final ServerExchange exchange;
  private final RankDirectory ranks;
  private final CacheLink cache;
  private final Confinement confinement;
  private final SessionReports reports;
  private final CompletableFuture<Ready> ready = new CompletableFuture<>();
  private final PeerConnections peers = new PeerConnections(this::dial);
  private final CompletableFuture<Assignment> assigned = new CompletableFuture<>();
  private volatile @Nullable Assignment assignment;
  private final CompletableFuture<Session> started = new CompletableFuture<>();
  private final SessionMove move;
  private final CompletableFuture<Void> restorationKnown = new CompletableFuture<>();
  private volatile boolean attached;

  /** Whether the server's next process finds the session. */
  private volatile boolean recorded;

  private record Ready(Backend backend, @Nullable KernelOutput output) {
    /** A driver prints by itself, and may count its GPUs in another order. */
    boolean isDriver() {
      return output != null;
    }
  }

  public AssignedSession(
      ControlLink control,
      ServerExchange exchange,
      RankDirectory ranks,
      CacheLink cache,
      Confinement confinement) {
    this.control = control;
    this.exchange = exchange;
    this.ranks = ranks;
    this.cache = cache;
    this.confinement = confinement;
    reports = new SessionReports(control);
    move = new SessionMove(control);
  }

  /**
   * The backend can be used now.
   *
   * @param output what its driver prints; null if it prints nothing itself
   */
  public void ready(Backend backend, @Nullable KernelOutput output) {
    ready.complete(new Ready(backend, output));
  }

  public boolean isAttached() {
    return attached;
  }

  public void assign(Assignment newAssignment) throws WireException {
    if (assignment != null) {
      throw new WireException("a second assignment; a worker has one session");
    }
    assignment = newAssignment;
    peers.outlive(newAssignment.resumeWindowMillis());
    assigned.complete(newAssignment);
  }

  /** Waits for it. */
  public Assignment awaitAssignment() {
    return assigned.join();
  }

  /**
   * The connection of the program; a later one takes the place of a former one that is lost, if the
   * session outlives its connection.
   */
  public void attach(ProgramConnection stream) throws WireException {
    Assignment mine = assignment;
    boolean resumable = windowMillis() > 0;
    if (mine == null || attached && !resumable) {
      throw new WireException("an attach " + (attached ? "too many" : "before any assignment"));
    }
    if (resumable) {
      TcpWatch.keepAlive(stream.fd());
    }
    // The server records a session before it hands over the program's connection.
    recorded = true;
    if (attached) {
      started.thenAccept(session -> session.resume(stream));
      return;
    }
    attached = true;
    Thread.ofPlatform().name("session").start(() -> run(mine, session(mine, stream)));
  }

  /**
   * A socket to the worker that has the session, which is to be made again here; its program
   * attaches afterwards.
   */
  public void restore(int fd) throws WireException {
    Assignment mine = assignment;
    if (mine == null || attached || mine.resumeWindowMillis() == 0) {
      throw new WireException("a session to be restored in a worker that has another, or none");
    }
    attached = true;
    Thread.ofPlatform().name("session").start(() -> run(mine, arrival(mine, fd)));
  }

  /**
   * The server knows that the session is restored, and its next process finds it; or it is certain
   * that the session goes on here.
   */
  public void restored() {
    recorded = true;
    // Its window begins when its program can come back, however long the restoration took.
    started.thenAccept(session -> session.transfer().awaitProgram());
    restorationKnown.complete(null);
  }

  /** A socket to the worker that the session is to go to. */
  public void move(String id, int fd, MoveSource.Manner manner) {
    started.thenAccept(session -> move.begin(id, session, memoryBases(), fd, manner));
  }

  /** Decides of a session that has been moved, or not yet, where it goes on. */
  public void moveEnd(String id, boolean gone) {
    move.decide(id, gone);
  }

  /**
   * How long the session outlives its server's process; 0: it ends with it. A program that is still
   * to be connected does not notice whether its session is another one, and one that moves here
   * goes on where it was.
   */
  public long outlivesServerMillis() {
    return recorded ? windowMillis() : 0;
  }

  /** Returns whether the session outlives its server's process once that has recorded it. */
  public boolean mayOutliveServer() {
    return windowMillis() > 0;
  }

  private long windowMillis() {
    Assignment mine = assignment;
    return mine == null ? 0 : mine.resumeWindowMillis();
  }

  /** Returns the session's name for the log. */
  public String name() {
    Assignment mine = assignment;
    return mine == null ? "no session" : mine.name().text();
  }

  /** Returns the files that the server shares with its workers: ledger and schedules. */
  public List<ServerFile> files() {
    Assignment mine = assignment;
    return mine == null ? List.of() : mine.files();
  }

  /** Puts into a message which session this is, and how its program is connected. */
  public void describe(TextMessage.Builder message) {
    Assignment mine = assignment;
    if (mine != null) {
      message.put("session", mine.name().id());
    }
    reports.describe(message);
    move.describe(message);
  }

  /** Reports the counters to a server that has not had them. */
  public void countAgain() {
    reports.countAgain();
  }

  /** A connection to the program's session on another server. */
  public void peer(int link, int socket, byte[] random) {
    control.settled(peerKey(link));
    if (windowMillis() > 0) {
      TcpWatch.keepAlive(socket);
    }
    peers.connected(link, socket, random);
  }

  /** There is none; {@code again}: but perhaps later. */
  public void peerRefused(int link, String why, boolean again) {
    control.settled(peerKey(link));
    peers.refused(link, why, again);
  }

  private void dial(int link, PeerAddress peer) {
    TextMessage request =
        TextMessage.ofType("peer")
            .put("link", link)
            .put("session", peer.session())
            .put("key", peer.key())
            .build();
    control.ask(peerKey(link), request, null);
  }

  private static String peerKey(int link) {
    return "peer " + link;
  }

  /** The way in which a session begins. */
  private interface Beginning {
    Session begin(Backend backend, SessionPlan plan) throws IOException, RestoreException;
  }

  private Beginning session(Assignment mine, ProgramConnection stream) {
    return (backend, plan) -> {
      Session session = new Session(backend, plan, stream);
      // Before other threads are started: the program need not wait for them.
      session.welcome();
      if (mine.resumeWindowMillis() == 0) {
        Departure.watch(stream.fd(), mine.name().text());
      }
      return session;
    };
  }

  private Beginning arrival(Assignment mine, int fd) {
    return (backend, plan) -> {
      MoveTarget target =
          new MoveTarget(
              backend,
              memoryBases(),
              mine.quotaBytes(),
              point -> new Session(backend, plan, point));
      return target.receive(fd, () -> awaitServer(mine));
    };
  }

  /** Tells the server that the session is restored, and waits until that knows it. */
  private void awaitServer(Assignment mine) {
    reports.arrived(mine.name().id());
    restorationKnown.join();
  }

  private List<Long> memoryBases() {
    Backend backend = ready.join().backend;
    List<LeasedGpu> gpus = assigned.join().driverGpus();
    return backend
        .relocation()
        .map(relocation -> gpus.stream().map(gpu -> relocation.memoryBase(gpu.ordinal())).toList())
        .orElse(List.of());
  }

  private void run(Assignment mine, Beginning beginning) {
    try {
      reports.ended(runSession(mine, beginning));
      Runtime.getRuntime().halt(0);
    } catch (RestoreException e) {
      reports.ended(String.valueOf(e.getMessage()));
      Runtime.getRuntime().halt(0);
    } catch (IOException | RuntimeException | Error e) {
      System.err.println("gpupool worker: session " + mine.name().id() + " failed: " + e);
      e.printStackTrace();
      Runtime.getRuntime().halt(1);
    }
  }

  private String runSession(Assignment mine, Beginning beginning)
      throws IOException, RestoreException {
    Ready parts = ready.join();
    confinement.complete();
    Ledger ledger = mine.openLedger();
    List<SessionTimeSlice> slices = mine.schedule().join();
    List<LeasedGpu> gpus = mine.driverGpus();
    for (int i = 0; i < slices.size(); i++) {
      boolean ignored = parts.backend.share(gpus.get(i).ordinal(), slices.get(i));
    }
    List<Integer> ordinals = gpus.stream().map(LeasedGpu::ordinal).toList();
    if (parts.isDriver()) {
      GpuIdentity.require(parts.backend, ordinals, mine.uuids());
    }
    parts.backend.setVisible(ordinals);
    boolean ignored = parts.backend.moveTo(mine.addressSlot(), ordinals);
    KernelOutput output = parts.output;
    SessionPlan plan =
        new SessionPlan(
            gpus,
            ledger,
            cache.images(),
            SessionPlan.DEFAULT_SPIN_NANOS,
            output == null ? null : output::flush,
            new OtherSessions(exchange, peers, ranks),
            window(mine));
    parts.backend.nameSession(mine.name().text());
    Session session = beginning.begin(parts.backend, plan);
    if (mine.resumeWindowMillis() > 0) {
      // First: the window of a session that was restored begins anew with it.
      started.complete(session);
      Departure.watch(() -> watch(session), mine.name().text());
    }
    if (!parts.backend.printTo(session::print) && output != null) {
      output.sendTo(session::print);
    }
    reports.count(() -> stats(session.counters(), ledger, slices));
    return session.run();
  }

  private long watch(Session session) {
    peers.watch();
    return session.watch();
  }

  private ResumeWindow window(Assignment mine) {
    return new ResumeWindow(mine.resumeWindowMillis(), reports::disconnected, reports::resumed);
  }

  private static TextMessage stats(
      SessionCounters counters, Ledger ledger, List<SessionTimeSlice> slices) {
    StringJoiner memory = new StringJoiner(",");
    for (int gpu = 0; gpu < ledger.gpus(); gpu++) {
      memory.add(Long.toString(ledger.sessionBytes(gpu)));
    }
    return TextMessage.ofType("stats")
        .put("memory", memory.toString())
        .put("calls", counters.calls())
        .put("fenced", counters.answered())
        .put("refused", ledger.refused())
        .put("driverMemory", counters.driverMemoryBytes())
        .put("bytesIn", counters.client().bytesIn())
        .put("bytesOut", counters.client().bytesOut())
        .put("peerBytesIn", counters.peers().bytesIn())
        .put("peerBytesOut", counters.peers().bytesOut())
        .put("gpuNanos", slices.stream().mapToLong(SessionTimeSlice::usedNanos).sum())
        .put("waitedNanos", slices.stream().mapToLong(SessionTimeSlice::waitedNanos).sum())
        .put("throttledNanos", slices.stream().mapToLong(SessionTimeSlice::throttledNanos).sum())
        .put("waits", counters.waits())
        .put("lastError", counters.lastError())
        .build();
  }
}
