// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import io.gpupool.server.capacity.Membership;
import io.gpupool.server.control.ControlThread;
import io.gpupool.server.lease.cluster.Reconciler;
import io.gpupool.server.lease.cluster.SessionTerminations;
import io.gpupool.server.lease.cluster.StatusPublisher;
import io.gpupool.server.records.RecordTypes;
import io.gpupool.server.records.ServerEndpoint;
import io.gpupool.server.records.ServerEntry;
import io.gpupool.server.records.ServerStatus;
import io.gpupool.server.session.Sessions;
import io.gpupool.wire.BuildVersion;
import java.util.function.Supplier;

/**
 * The part of a server in its cluster: what the servers tell each other, and its coming and going.
 * A server that is alone tells nothing and hears nothing.
 */
final class ClusterPlane {
  private final ServerContext context;
  private final PoolState state;
  private final StatusPublisher statuses;
  private final SessionTerminations terminations;

  ClusterPlane(ServerContext context, PoolState state) {
    this.context = context;
    this.state = state;
    ControlThread control = context.threads().control();
    statuses =
        new StatusPublisher(state.records(), state.capacity().members(), context.name(), control);
    terminations = new SessionTerminations(state.records(), statuses, context.name());
  }

  StatusPublisher statuses() {
    return statuses;
  }

  SessionTerminations terminations() {
    return terminations;
  }

  /** Comes into the cluster, if there is one, and leaves it before anything is closed. */
  void join(
      LeasePlane leases,
      Sessions sessions,
      Supplier<ServerStatus> status,
      Supplier<ServerEntry> self) {
    state.membership().ifPresent(members -> join(members, leases, sessions, status, self));
  }

  private void join(
      Membership members,
      LeasePlane leases,
      Sessions sessions,
      Supplier<ServerStatus> status,
      Supplier<ServerEntry> self) {
    ControlThread control = context.threads().control();
    state
        .records()
        .whenChanged(
            RecordTypes.SESSION_TERMINATIONS,
            () -> control.execute(() -> terminations.apply(sessions)));
    control.execute(() -> statuses.start(status));
    new Reconciler(
            state.records(),
            leases.store(),
            members,
            leases.leases(),
            leases.queue(),
            leases.peers(),
            control,
            self)
        .start(control);
    context
        .steps()
        .addAwaited(done ->
            control.execute(() -> {
              members.leave();
              done.run();
            }));
  }

  /** Returns the record of this server, with its ports. */
  ServerEntry entry(int controlPort, int streamPort) {
    return new ServerEntry(
        context.name(),
        new ServerEndpoint(
            context.host() + ":" + controlPort, streamPort, context.tls().streams() != null),
        BuildVersion.TEXT,
        context.served().backend(),
        context.served().gpus(),
        context.threads().control().wallMillis(),
        context.served().isMps(),
        context.served().isMovable());
  }
}
