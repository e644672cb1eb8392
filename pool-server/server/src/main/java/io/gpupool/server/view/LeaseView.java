// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.view;

import io.gpupool.control.v1.GrantUse;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.LeaseServer;
import io.gpupool.control.v1.ListLeasesReply;
import io.gpupool.control.v1.Suspension;
import io.gpupool.runtime.Timers;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.lease.cluster.StatusPublisher;
import io.gpupool.server.lease.lifecycle.GrantedLease;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.lease.lifecycle.LeaseFinder;
import io.gpupool.server.lease.model.LeaseState;
import io.gpupool.server.lease.store.SuspensionStore;
import io.gpupool.server.lease.usage.GpuScheduleTable;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.server.records.ServerEntry;
import io.gpupool.server.records.ServerStatus;
import io.gpupool.server.records.SuspensionRecord;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A view of the pool's leases as messages. Runs on the control thread. */
public final class LeaseView {
  private static final long NANOS_PER_MILLI = 1_000_000;

  private final ServerDirectory directory;
  private final LeaseFinder finder;
  private final SuspensionStore suspensions;
  private final StatusPublisher statuses;
  private final Timers timers;

  public LeaseView(
      ServerDirectory directory,
      LeaseFinder finder,
      SuspensionStore suspensions,
      StatusPublisher statuses,
      Timers timers) {
    this.directory = directory;
    this.finder = finder;
    this.suspensions = suspensions;
    this.statuses = statuses;
    this.timers = timers;
  }

  /** The leases of the caller's tenant, or of the pods of its node; an admin sees all. */
  public ListLeasesReply list(Principal principal) {
    ListLeasesReply.Builder reply = ListLeasesReply.newBuilder();
    Map<String, ServerStatus> told = statuses.all();
    for (Lease lease : finder.all()) {
      if (principal.maySee(lease.tenant(), lease.pod().orElse(null))) {
        reply.addLeases(info(lease, told));
      }
    }
    return reply.build();
  }

  /** One lease as lists have it. */
  public LeaseInfo lease(Lease lease) {
    return info(lease, statuses.all()).build();
  }

  /** The lease as its holder gets it, secret included. */
  public io.gpupool.control.v1.Lease granted(GrantedLease granted) {
    Lease lease = granted.lease();
    var message =
        io.gpupool.control.v1.Lease.newBuilder()
            .setId(lease.id().text())
            .setSecret(granted.secret().reveal())
            .setResumeWindowMillis(lease.resumeWindowMillis());
    lease.parts().forEach(part -> message.addGrants(directory.grant(part)));
    return message.build();
  }

  /** The servers that have a lease's GPUs, in its order. */
  public List<LeaseServer> serversOf(Lease lease) {
    return lease.topology().servers().stream()
        .map(name ->
            LeaseServer.newBuilder()
                .setName(name)
                .setAddress(directory.addressOf(name).orElse(""))
                .setGpus(lease.topology().gpusOf(name))
                .build())
        .toList();
  }

  /** The leases on this server's GPUs that programs have used, without what others tell. */
  List<LeaseInfo> usedHere() {
    return finder.here().stream()
        .map(lease -> info(lease).build())
        .filter(LeaseView::isUsed)
        .toList();
  }

  private static boolean isUsed(LeaseInfo lease) {
    return lease.getSessions() > 0
        || lease.getGrantsList().stream().anyMatch(use -> use.getUsedGpuNanos() > 0);
  }

  /** With what the other servers that have GPUs of it tell. */
  private LeaseInfo.Builder info(Lease lease, Map<String, ServerStatus> told) {
    LeaseInfo.Builder info = info(lease);
    for (String other : lease.topology().servers()) {
      Optional.ofNullable(told.get(other))
          .flatMap(status -> status.lease(lease.id()))
          .ifPresent(there -> use(info, lease, other, there));
    }
    return info;
  }

  /** A server that has told its home server nothing yet shows the grace period that follows. */
  private static LeaseInfo.State state(LeaseState state) {
    return switch (state) {
      case LeaseState.Held held -> LeaseInfo.State.STATE_HELD;
      case LeaseState.Returning returning -> LeaseInfo.State.STATE_GRACE;
      case LeaseState.Grace grace -> LeaseInfo.State.STATE_GRACE;
      case LeaseState.Ending ending -> LeaseInfo.State.STATE_ENDING;
      case LeaseState.Moved moved -> LeaseInfo.State.STATE_ENDING;
      case LeaseState.Gone gone -> LeaseInfo.State.STATE_ENDING;
    };
  }

  private LeaseInfo.Builder info(Lease lease) {
    lease.noteWork(timers.nowNanos());
    LeaseInfo.Builder info =
        LeaseInfo.newBuilder()
            .setId(lease.id().text())
            .setState(state(lease.state()))
            .setHolder(lease.holder().message())
            .setTenant(lease.tenant())
            .setAgeMillis(millisSince(lease.grantedAtNanos()))
            .setSessions(lease.sessions().size())
            .setIdleMillis(lease.clock().idleMillis(timers.nowNanos()))
            .setIdleTimeoutMillis(lease.clock().limits().idleMillis())
            .setTimeLimitMillis(lease.clock().limits().timeMillis())
            .setGraceMillis(lease.clock().limits().graceMillis())
            .setResumeWindowMillis(lease.resumeWindowMillis())
            .setSuspendIdleMillis(lease.clock().limits().suspendIdleMillis())
            .setClass_(lease.leaseClass().message());
    lease.pod().ifPresent(pod -> info.setPod(pod.message()));
    for (int i = 0; i < lease.parts().size(); i++) {
      GrantUse.Builder use =
          GrantUse.newBuilder()
              .setGrant(directory.grant(lease.parts().get(i)))
              .setGrantedGpuNanos(grantedElsewhereNanos(lease, lease.parts().get(i)));
      lease.topology().ownIndex(i).ifPresent(own -> use(use, lease, own));
      info.addGrants(use);
    }
    suspensions
        .get(lease.id())
        .filter(SuspensionRecord::isSaved)
        .ifPresent(record -> suspension(info, record));
    return info;
  }

  private void suspension(LeaseInfo.Builder info, SuspensionRecord record) {
    if (info.getState() != LeaseInfo.State.STATE_ENDING) {
      boolean resumes = record.isWanted() || record.phase() == SuspensionRecord.Phase.RESUMING;
      info.setState(resumes ? LeaseInfo.State.STATE_RESUMING : LeaseInfo.State.STATE_SUSPENDED);
    }
    info.setSuspension(
        Suspension.newBuilder()
            .setMemoryBytes(record.part().share().memoryBytes())
            .setComputePercent(record.part().share().computePercent())
            .setWakesOnCall(record.wakesOnCall())
            .setAgeMillis(Math.max(0, timers.wallMillis() - record.sinceMillis()))
            .setSessions(record.sessions().size())
            .setBytes(record.result().bytes())
            .setReason(record.result().reason()));
  }

  /** Of one of this server's own GPUs. */
  private void use(GrantUse.Builder use, Lease lease, int own) {
    GpuScheduleTable.Use time = lease.time().use(own);
    use.setUsedMemoryBytes(lease.ledger().usedBytes(own))
        .setUsedComputePercent(lease.time().recentPercent(own, timers.nowNanos()))
        .setGrantedGpuNanos(lease.time().grantedNanos(own, timers.nowNanos()))
        .setUsedGpuNanos(time.usedNanos())
        .setWaitedNanos(time.waitedNanos())
        .setThrottledNanos(time.throttledNanos())
        .setDebtGpuNanos(lease.time().debtNanos(own, timers.nowNanos()));
  }

  /** What another server does not tell before programs use it; 0: the GPU is this server's. */
  private long grantedElsewhereNanos(Lease lease, Part part) {
    ServerEntry other = directory.others().get(part.gpu().server());
    if (other == null) {
      return 0;
    }
    long upMillis = Math.max(0, timers.wallMillis() - other.sinceMillis());
    long millis = Math.min(millisSince(lease.grantedAtNanos()), upMillis);
    return part.share().nanosOf(millis * NANOS_PER_MILLI);
  }

  /** What another server that has GPUs of a lease tells of their use. */
  private static void use(LeaseInfo.Builder info, Lease lease, String other, LeaseInfo there) {
    info.setSessions(info.getSessions() + there.getSessions());
    boolean isFirst = lease.isRemote() && other.equals(lease.topology().home());
    info.setIdleMillis(
        isFirst ? there.getIdleMillis() : Math.min(info.getIdleMillis(), there.getIdleMillis()));
    if (!lease.isHeldHere() && other.equals(lease.topology().home())) {
      info.setState(there.getState());
    }
    for (int i = 0; i < Math.min(info.getGrantsCount(), there.getGrantsCount()); i++) {
      if (info.getGrants(i).getGrant().getServer().equals(other)) {
        GrantUse.Builder here = info.getGrantsBuilder(i);
        info.setGrants(i, there.getGrants(i).toBuilder().setGrant(here.getGrant()));
      }
    }
  }

  private long millisSince(long nanos) {
    return (timers.nowNanos() - nanos) / NANOS_PER_MILLI;
  }
}
