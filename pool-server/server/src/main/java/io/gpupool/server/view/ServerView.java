// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.view;

import io.gpupool.control.v1.ListServersReply;
import io.gpupool.control.v1.ServerInfo;
import io.gpupool.runtime.Timers;
import io.gpupool.server.capacity.Capacity;
import io.gpupool.server.identity.HolderName;
import io.gpupool.server.lease.cluster.StatusPublisher;
import io.gpupool.server.lease.lifecycle.LeaseFinder;
import io.gpupool.server.records.ServerEntry;
import io.gpupool.server.rejection.RefusedException;
import io.gpupool.server.session.Sessions;
import io.gpupool.server.worker.WorkerPool;
import java.util.Optional;

/** A view of the pool's servers as messages. Runs on the control thread. */
public final class ServerView {
  private static final long NANOS_PER_MILLI = 1_000_000;

  private final ServerDirectory directory;
  private final Capacity capacity;
  private final LeaseFinder finder;
  private final Sessions sessions;
  private final WorkerPool workers;
  private final ServerStates states;
  private final StatusPublisher statuses;
  private final Timers timers;
  private final long startedAtNanos;

  public ServerView(
      ServerDirectory directory,
      Capacity capacity,
      LeaseFinder finder,
      Sessions sessions,
      WorkerPool workers,
      ServerStates states,
      StatusPublisher statuses,
      Timers timers) {
    this.directory = directory;
    this.capacity = capacity;
    this.finder = finder;
    this.sessions = sessions;
    this.workers = workers;
    this.states = states;
    this.statuses = statuses;
    this.timers = timers;
    startedAtNanos = timers.nowNanos();
  }

  public ListServersReply list() {
    ListServersReply.Builder reply = ListServersReply.newBuilder();
    directory.others().forEach((name, other) -> reply.addServers(other(name, other)));
    return reply.addServers(self()).build();
  }

  /** One server of the pool. */
  public ServerInfo server(String name) throws RefusedException {
    return list().getServersList().stream()
        .filter(info -> info.getName().equals(name))
        .findFirst()
        .orElseThrow(() ->
            new RefusedException(
                RefusedException.Why.NOT_FOUND,
                "server '" + HolderName.plain(name) + "' is not there"));
  }

  /** Why no program can be served now; empty if one can, as far as is known. */
  Optional<String> trouble() {
    return states.isStopping() ? Optional.of("the server is stopping") : workers.trouble();
  }

  /** This server. */
  ServerInfo self() {
    String name = directory.name();
    return described(ServerInfo.newBuilder(), name)
        .setVersion(directory.version())
        .setGpus(gpusOf(name))
        .setLeases(finder.countHere())
        .setSessions(sessions.all().size())
        .setSpareWorkers(workers.spareCount())
        .setUpMillis((timers.nowNanos() - startedAtNanos) / NANOS_PER_MILLI)
        .setDevelopment(directory.mode().development())
        .setTls(directory.mode().tls())
        .build();
  }

  /** Another server, as far as it is known here. */
  private ServerInfo other(String name, ServerEntry other) {
    ServerInfo.Builder told =
        statuses
            .of(name)
            .map(status -> status.server().toBuilder())
            .orElseGet(ServerInfo::newBuilder);
    return described(told, name)
        .setVersion(other.version())
        .setGpus(other.gpus().size())
        .setLeases(finder.countOn(name))
        .setUpMillis(Math.max(0, timers.wallMillis() - other.sinceMillis()))
        .build();
  }

  private ServerInfo.Builder described(ServerInfo.Builder info, String name) {
    return info.setName(name)
        .setAddress(directory.addressOf(name).orElse(""))
        .setBackend(directory.backendOf(name))
        .setState(states.state(name))
        .setIdleMillis(states.idleMillis(name))
        .setDrainDeadlineAtMillis(states.drainDeadlineAtMillis(name))
        .clearDrainedLeases()
        .addAllDrainedLeases(states.drainedLeases(name));
  }

  private int gpusOf(String name) {
    return (int) capacity.gpus().stream().filter(gpu -> gpu.server().equals(name)).count();
  }
}
