// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.view;

import io.gpupool.control.v1.ListSessionsReply;
import io.gpupool.control.v1.SessionInfo;
import io.gpupool.runtime.Timers;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.lease.cluster.StatusPublisher;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.lease.lifecycle.LeaseFinder;
import io.gpupool.server.lease.usage.LeaseTime;
import io.gpupool.server.records.ServerStatus;
import io.gpupool.server.session.Session;
import io.gpupool.server.session.SessionStats;
import io.gpupool.server.session.Sessions;
import java.util.List;
import java.util.stream.Stream;

/** A view of the pool's sessions as messages. Runs on the control thread. */
public record SessionView(
    ServerDirectory directory,
    Sessions sessions,
    LeaseFinder finder,
    StatusPublisher statuses,
    Timers timers) {
  private static final long NANOS_PER_MILLI = 1_000_000;

  /**
   * The sessions of the caller's tenant; an admin sees all.
   *
   * @param disconnected whether only those are asked for whose connection is lost
   */
  public ListSessionsReply list(Principal principal, boolean disconnected) {
    ListSessionsReply.Builder reply = ListSessionsReply.newBuilder();
    for (Session session : sessions.all()) {
      if ((!disconnected || session.state() == Session.State.DISCONNECTED)
          && principal.maySee(session.lease().tenant())) {
        reply.addSessions(info(session));
      }
    }
    for (ServerStatus status : statuses.all().values()) {
      for (SessionInfo session : status.sessions()) {
        if ((!disconnected || session.getState() == SessionInfo.State.STATE_DISCONNECTED)
            && finder.tenantOf(session.getLeaseId()).filter(principal::maySee).isPresent()) {
          reply.addSessions(session);
        }
      }
    }
    return reply.build();
  }

  /** The sessions of this server. */
  List<SessionInfo> here() {
    return sessions.all().stream().map(this::info).toList();
  }

  /** The sessions of a lease, those of this server first. */
  List<SessionInfo> of(Lease lease) {
    Stream<SessionInfo> here =
        sessions.all().stream().filter(session -> session.lease() == lease).map(this::info);
    Stream<SessionInfo> elsewhere =
        statuses.all().values().stream()
            .flatMap(status -> status.sessions().stream())
            .filter(session -> session.getLeaseId().equals(lease.id().text()));
    return Stream.concat(here, elsewhere).toList();
  }

  private SessionInfo info(Session session) {
    SessionStats stats = session.stats();
    SessionInfo.Builder info =
        SessionInfo.newBuilder()
            .setId(session.id().toString())
            .setLeaseId(session.lease().id().text())
            .setState(SessionInfo.State.valueOf("STATE_" + session.state()))
            .setClient(session.client().message())
            .setWorkerPid(session.workerPid())
            .setCalls(stats.calls().total())
            .setCallsPerSecond(stats.calls().perSecond())
            .setReceivedBytes(stats.traffic().receivedBytes())
            .setSentBytes(stats.traffic().sentBytes())
            .setPeerReceivedBytes(stats.traffic().peerReceivedBytes())
            .setPeerSentBytes(stats.traffic().peerSentBytes())
            .setServer(directory.name())
            .setGpuNanos(session.lease().time().charge(stats.gpuTime().usedNanos()))
            .setWaitedNanos(stats.gpuTime().waitedNanos())
            .setThrottledNanos(stats.gpuTime().throttledNanos())
            .setDriverMemoryBytes(stats.memory().driverBytes())
            .setLastError(stats.lastError())
            .setAgeMillis(millisSince(session.openedAtNanos()))
            .setIdleMillis(idleMillis(session));
    session.resumeMillisLeft().ifPresent(left -> info.setResumeMillisLeft(left));
    LeaseTime time = session.lease().time();
    long now = timers.nowNanos();
    for (int i = 0; i < session.lease().topology().own().size(); i++) {
      info.addUsedMemoryBytes(session.lease().ledger().usedBytes(i, session.slot()))
          .setGrantedGpuNanos(info.getGrantedGpuNanos() + session.grantedNanos(i, now))
          .setDebtGpuNanos(info.getDebtGpuNanos() + time.debtNanos(i, now));
    }
    return info.build();
  }

  private long idleMillis(Session session) {
    SessionStats.Calls calls = session.stats().calls();
    return millisSince(calls.total() == 0 ? session.openedAtNanos() : calls.lastAtNanos());
  }

  private long millisSince(long nanos) {
    return (timers.nowNanos() - nanos) / NANOS_PER_MILLI;
  }
}
