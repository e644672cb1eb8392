// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import io.gpupool.server.gpu.LeaseClass;
import io.gpupool.server.host.HostMemory;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.identity.Role;
import io.gpupool.server.image.SessionImages;
import io.gpupool.server.lease.lifecycle.Ground;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.limits.LeaseLimits;
import io.gpupool.server.limits.SessionLimits;
import io.gpupool.server.placement.GpuRequirements;
import io.gpupool.server.placement.Placement;
import io.gpupool.server.placement.Placement.Outcome;
import io.gpupool.server.records.LeaseOwner;
import io.gpupool.server.records.LeaseSpec;
import io.gpupool.server.records.Quota;
import io.gpupool.server.sandbox.Sandbox;
import io.gpupool.server.stream.CallStream;
import io.gpupool.server.takeover.SessionRecords;
import io.gpupool.server.tenant.Tokens;
import io.gpupool.server.worker.DriverStart;
import io.gpupool.server.worker.LinkedWorker;
import io.gpupool.server.worker.WorkerCommand;
import io.gpupool.server.worker.WorkerLaunch;
import io.gpupool.server.worker.WorkerPool;
import io.gpupool.transport.Descriptors;
import io.gpupool.transport.EventLoops;
import io.gpupool.wire.ClientHello;
import io.gpupool.wire.DriverEnvironment;
import io.gpupool.wire.ServerHello;
import io.gpupool.wire.SessionKey;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.unix.FileDescriptor;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/** Sessions that are served by workers without processes, on a clock of the test's. */
public final class ServedSessions {
  private static final EventLoopGroup LOOPS = EventLoops.create("served-sessions", 1);

  public final Ground ground;
  public final Sessions sessions;

  /** The pool of its workers. */
  final WorkerPool workers;

  public ServedSessions(Ground ground) {
    this(ground, new PeerDialer(ground.capacity.members(), LOOPS, null));
  }

  /** Sessions whose server reaches others so. */
  ServedSessions(Ground ground, ServerDialer dialer) {
    this.ground = ground;
    workers = workers(ground);
    sessions = sessions(ground, workers, new EndlessMemory(), dialer, Runnable::run, null);
  }

  /**
   * Sessions that can be suspended.
   *
   * @param control runs on the test's thread what follows from what other threads do
   */
  ServedSessions(Ground ground, Executor control, SessionImages images) {
    this.ground = ground;
    workers = workers(ground);
    sessions =
        sessions(
            ground,
            workers,
            new EndlessMemory(),
            new PeerDialer(ground.capacity.members(), LOOPS, null),
            control,
            images);
  }

  /** Makes a pool of workers that starts no processes. */
  static WorkerPool workers(Ground ground) {
    return new WorkerPool(
        new WorkerLaunch(
            new WorkerCommand(List.of()),
            "",
            List.of(),
            Map.of(),
            DriverStart.NEVER,
            Sandbox.none(),
            null),
        0,
        false,
        ground.timers,
        Runnable::run,
        task -> {});
  }

  static Sessions sessions(Ground ground, WorkerPool workers, HostMemory memory) {
    return sessions(
        ground,
        workers,
        memory,
        new PeerDialer(ground.capacity.members(), LOOPS, null),
        Runnable::run,
        null);
  }

  private static Sessions sessions(
      Ground ground,
      WorkerPool workers,
      HostMemory memory,
      ServerDialer dialer,
      Executor control,
      @Nullable SessionImages images) {
    return new Sessions(
        ground.leases,
        ground.tokens,
        workers,
        ground.timers,
        control,
        dialer,
        new SessionOptions(SessionLimits.DEFAULT, memory, Map.of()),
        new SessionFiles(SessionRecords.none(), images, Runnable::run));
  }

  /** Makes a tenant with a token. */
  public Tokens.Made tenant(String name, long validMillis) throws Exception {
    ground.tenants.create(Principal.ANYONE, name, Quota.UNLIMITED);
    return ground.tokens.create(Principal.ANYONE, name, Role.USER, validMillis, "");
  }

  public Principal principal(Tokens.Made token) {
    return ground.tokens.authenticate(token.text()).orElseThrow();
  }

  /** Opens a session on a lease of its own that is never idle for too long. */
  public Session open(Principal principal) throws Exception {
    return open(principal, new LeaseLimits(0, 0, 0, 60_000));
  }

  /** Opens a session on a lease of its own. */
  public Session open(Principal principal, LeaseLimits limits) throws Exception {
    return open(principal, limits, null);
  }

  /** Opens a session on a lease of its own that belongs to a gang. */
  Session open(Principal principal, String gang) throws Exception {
    return open(principal, LeaseLimits.NONE, gang);
  }

  private Session open(Principal principal, LeaseLimits limits, @Nullable String gang)
      throws Exception {
    GpuRequirements requirements =
        new GpuRequirements(1, new GpuRequirements.Size.Fraction(0.25), null, List.of());
    Outcome.Placed placed =
        (Outcome.Placed)
            Placement.place(requirements, principal.tenant(), ground.capacity.snapshot());
    Lease lease =
        ground
            .grant(
                new LeaseSpec(
                    requirements,
                    0,
                    0,
                    new LeaseOwner(Ground.HOLDER, principal.tenant(), null, gang),
                    principal,
                    limits,
                    LeaseClass.BATCH),
                placed.parts())
            .lease();
    return sessions.open(lease, Ground.HOLDER, principal, DriverEnvironment.NONE);
  }

  /** Connects the program of a session that was opened, and the worker that it gets. */
  public LinkedWorker attach(Session session) {
    return attach(session, session.key(), false);
  }

  /** The same by a key, and perhaps by the socket of this machine. */
  LinkedWorker attach(Session session, SessionKey key, boolean isLocal) {
    connect(new ClientHello(1, 1, session.id(), key), isLocal);
    return new LinkedWorker(session.worker());
  }

  /** Connects a program once more; returns the status of the answer. */
  public int resume(Session session, SessionKey resumeKey) {
    return connect(ClientHello.resuming(1, 1, session.id(), resumeKey)).status();
  }

  /** Connects somebody; returns the answer. */
  public ServerHello connect(ClientHello hello) {
    return connect(hello, false);
  }

  /** The same, perhaps by the socket of this machine. */
  ServerHello connect(ClientHello hello, boolean isLocal) {
    Answer answer = new Answer(isLocal);
    sessions.join(hello, answer);
    return answer.given == null ? ServerHello.accepted(1) : answer.given;
  }

  /** A connection that is handed over as soon as it is accepted. */
  private static final class Answer implements CallStream {
    private final boolean isLocal;
    private @Nullable ServerHello given;

    Answer(boolean isLocal) {
      this.isLocal = isLocal;
    }

    @Override
    public boolean isLocal() {
      return isLocal;
    }

    @Override
    public void refuse(ServerHello answer) {
      given = answer;
    }

    @Override
    public CompletableFuture<FileDescriptor> accept(ServerHello answer, boolean resumable) {
      given = answer;
      try {
        return CompletableFuture.completedFuture(
            new FileDescriptor(Descriptors.memoryFile("stream", 16)));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  /** Memory that no worker ever lacks. */
  private static final class EndlessMemory implements HostMemory {
    @Override
    public long availableBytes() {
      return 1L << 50;
    }

    @Override
    public long residentBytes(long pid) {
      return 0;
    }
  }
}
