// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.service;

import io.gpupool.control.v1.DescribeLeaseReply;
import io.gpupool.control.v1.GpuInfo;
import io.gpupool.control.v1.Grant;
import io.gpupool.control.v1.GrantUse;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.LeaseServer;
import io.gpupool.control.v1.ListGpusReply;
import io.gpupool.control.v1.ListLeasesReply;
import io.gpupool.control.v1.ListQueueReply;
import io.gpupool.control.v1.ListServersReply;
import io.gpupool.control.v1.ListSessionsReply;
import io.gpupool.control.v1.QueueInfo;
import io.gpupool.control.v1.ServerInfo;
import io.gpupool.control.v1.SessionInfo;
import io.gpupool.runtime.Timers;
import io.gpupool.server.capacity.Capacity;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.gpu.Share;
import io.gpupool.server.health.Faults;
import io.gpupool.server.health.GpuHealth;
import io.gpupool.server.health.Reading;
import io.gpupool.server.history.GpuHistory;
import io.gpupool.server.history.UseHistory;
import io.gpupool.server.history.Window;
import io.gpupool.server.identity.HolderName;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.lease.cluster.Drains;
import io.gpupool.server.lease.cluster.IdleServerTracker;
import io.gpupool.server.lease.cluster.StatusPublisher;
import io.gpupool.server.lease.lifecycle.GrantedLease;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.lease.lifecycle.LeaseFinder;
import io.gpupool.server.lease.lifecycle.LeaseService;
import io.gpupool.server.lease.queue.LeaseQueue;
import io.gpupool.server.lease.queue.QueuePosition;
import io.gpupool.server.lease.usage.LeaseTime;
import io.gpupool.server.lease.usage.TimeTable;
import io.gpupool.server.placement.GpuRequirements;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.server.records.GpuFault;
import io.gpupool.server.records.LeaseSpec;
import io.gpupool.server.records.ResourceUsage;
import io.gpupool.server.records.ServerEntry;
import io.gpupool.server.records.ServerStatus;
import io.gpupool.server.refusal.RefusedException;
import io.gpupool.server.select.Selection;
import io.gpupool.server.session.Session;
import io.gpupool.server.session.SessionStats;
import io.gpupool.server.session.Sessions;
import io.gpupool.server.session.Workers;
import io.gpupool.server.state.RecordStore;
import io.gpupool.server.tally.Metric;
import io.gpupool.server.tally.ServerMetrics;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** What the pool holds, as messages for those who ask. Runs on the control thread. */
public final class PoolView {
  private static final long NANOS_PER_MILLI = 1_000_000;

  private final String server;
  private final Supplier<String> address;
  private final String version;
  private final ServerMode mode;
  private final String backend;
  private final Capacity capacity;
  private final LeaseService leases;
  private final LeaseFinder finder;
  private final LeaseQueue queue;
  private final Sessions sessions;
  private final Workers workers;
  private final Drains drains;
  private final IdleServerTracker idleServers;
  private final GpuHealth health;
  private final StatusPublisher statuses;
  private final RecordStore records;
  private final Timers timers;
  private final UseHistory history;
  private final long startedAtNanos;

  public PoolView(
      String server,
      Supplier<String> address,
      String version,
      ServerMode mode,
      String backend,
      Capacity capacity,
      LeaseService leases,
      LeaseFinder finder,
      LeaseQueue queue,
      Sessions sessions,
      Workers workers,
      Drains drains,
      IdleServerTracker idleServers,
      GpuHealth health,
      StatusPublisher statuses,
      RecordStore records,
      Timers timers,
      UseHistory history) {
    this.server = server;
    this.address = address;
    this.version = version;
    this.mode = mode;
    this.backend = backend;
    this.capacity = capacity;
    this.leases = leases;
    this.finder = finder;
    this.queue = queue;
    this.sessions = sessions;
    this.workers = workers;
    this.drains = drains;
    this.idleServers = idleServers;
    this.health = health;
    this.statuses = statuses;
    this.records = records;
    this.timers = timers;
    this.history = history;
    startedAtNanos = timers.nowNanos();
  }

  String server() {
    return server;
  }

  String version() {
    return version;
  }

  /** The servers that have a lease's GPUs, in its order. */
  List<LeaseServer> serversOf(Lease lease) {
    return lease.topology().servers().stream()
        .map(name ->
            LeaseServer.newBuilder()
                .setName(name)
                .setAddress(addressOf(name).orElse(""))
                .setGpus(lease.topology().gpusOf(name))
                .build())
        .toList();
  }

  /** Where a server is; empty while it is gone. */
  Optional<String> addressOf(String name) {
    return name.equals(server) ? Optional.of(address.get()) : capacity.members().addressOf(name);
  }

  private String backendOf(String name) {
    ServerEntry other = capacity.members().others().get(name);
    return other == null ? backend : other.backend();
  }

  /** The lease as its holder gets it, secret included. */
  io.gpupool.control.v1.Lease granted(GrantedLease granted) {
    Lease lease = granted.lease();
    var message =
        io.gpupool.control.v1.Lease.newBuilder()
            .setId(lease.id().text())
            .setSecret(granted.secret().reveal());
    lease.parts().forEach(part -> message.addGrants(grant(part)));
    return message.build();
  }

  /** All that this caller may see. */
  PoolSnapshot snapshot(Principal principal, AdminView admin) {
    return new PoolSnapshot(
        server,
        servers().getServersList(),
        gpus().getGpusList(),
        leases(principal).getLeasesList(),
        queue(principal).getRequestsList(),
        queue.here().stream().map(position -> position.request().id()).collect(Collectors.toSet()),
        sessions(principal).getSessionsList(),
        admin.partitions(principal).getPartitionsList(),
        admin.tenants(principal).getTenantsList(),
        tally().rows(principal::maySee));
  }

  /** What one of this server's GPUs was used for; empty if it is not this server's. */
  Optional<GpuHistory> history(Principal principal, String gpu, Window window) {
    return history.of(gpu, window, principal::maySee);
  }

  /** What has happened so far, with what goes on. */
  private ServerMetrics tally() {
    ServerMetrics tally = leases.metrics().copy();
    leases.all().forEach(lease -> lease.countTime(tally, timers.nowNanos()));
    sessions.all().forEach(session -> Sessions.tally(tally, session));
    tally.add(Metric.WORKERS_STARTED, workers.started(), server);
    tally.add(Metric.WORKERS_FAILED, workers.failed(), server);
    tally.add(Metric.STATE_COMMITS, records.commits(), server);
    tally.add(Metric.STATE_CONFLICTS, records.conflicts(), server);
    tally.add(Metric.STATE_FAILURES, records.failures(), server);
    return tally;
  }

  ListServersReply servers() {
    ListServersReply.Builder reply = ListServersReply.newBuilder();
    capacity.members().others().forEach((name, other) -> reply.addServers(info(name, other)));
    return reply.addServers(info()).build();
  }

  private ServerInfo info() {
    return ServerInfo.newBuilder()
        .setName(server)
        .setAddress(address.get())
        .setVersion(version)
        .setGpus(gpusOf(server))
        .setLeases((int) leases.all().stream().filter(lease -> !lease.isRemote()).count())
        .setSessions(sessions.all().size())
        .setSpareWorkers(workers.spareCount())
        .setUpMillis(millisSince(startedAtNanos))
        .setBackend(backend)
        .setIdleMillis(idleServers.idleMillis(server))
        .setState(drains.state(server))
        .setDrainDeadlineAtMillis(drainDeadlineAtMillis(server))
        .setDevelopment(mode.development())
        .setTls(mode.tls())
        .build();
  }

  /** What is known here of another server. */
  private ServerInfo info(String name, ServerEntry other) {
    return statuses
        .of(name)
        .map(status -> status.server().toBuilder())
        .orElseGet(ServerInfo::newBuilder)
        .setName(name)
        .setAddress(other.address())
        .setVersion(other.version())
        .setGpus(other.gpus().size())
        .setLeases(finder.countOn(name))
        .setUpMillis(Math.max(0, timers.wallMillis() - other.sinceMillis()))
        .setBackend(other.backend())
        .setState(drains.state(name))
        .setIdleMillis(idleServers.idleMillis(name))
        .setDrainDeadlineAtMillis(drainDeadlineAtMillis(name))
        .build();
  }

  private long drainDeadlineAtMillis(String name) {
    return drains.of(name).stream()
        .flatMapToLong(drain -> drain.deadlineAtMillis().stream())
        .findFirst()
        .orElse(0);
  }

  private int gpusOf(String name) {
    return (int) capacity.gpus().stream().filter(gpu -> gpu.server().equals(name)).count();
  }

  /** One server of the pool. */
  ServerInfo server(String name) throws RefusedException {
    return servers().getServersList().stream()
        .filter(info -> info.getName().equals(name))
        .findFirst()
        .orElseThrow(() ->
            new RefusedException(
                RefusedException.Why.NOT_FOUND,
                "server '" + HolderName.plain(name) + "' is not there"));
  }

  /** Why no program can be served now; empty if one can, as far as is known. */
  Optional<String> trouble() {
    return drains.isStopping() ? Optional.of("the server is stopping") : workers.trouble();
  }

  ListGpusReply gpus() {
    ListGpusReply.Builder reply = ListGpusReply.newBuilder();
    capacity.gpus().forEach(gpu -> reply.addGpus(info(gpu)));
    return reply.build();
  }

  private GpuInfo info(Gpu gpu) {
    Share free = capacity.free(gpu);
    Optional<GpuFault> ailment = capacity.ailment(gpu);
    GpuInfo.Builder info =
        GpuInfo.newBuilder()
            .setServer(gpu.server())
            .setGpu(gpu.ordinal())
            .setUuid(gpu.uuid())
            .setName(gpu.name())
            .setComputeCapability(gpu.computeCapability())
            .setMemoryBytes(gpu.memoryBytes())
            .setFreeMemoryBytes(free.memoryBytes())
            .setFreeComputePercent(free.computePercent())
            .setDriverVersion(gpu.driverVersion())
            .addAllLabels(gpu.labelTexts())
            .setDriver(gpu.facts().driver())
            .setPciBusId(gpu.facts().pciBusId())
            .setMultiprocessors(gpu.facts().multiprocessors())
            .setClockKilohertz(gpu.facts().clockKilohertz())
            .setMemoryClockKilohertz(gpu.facts().memoryClockKilohertz())
            .setMemoryBusBits(gpu.facts().memoryBusBits())
            .setContextMemoryBytes(gpu.facts().contextBytes())
            .setHealth(ailment.isPresent() ? "unhealthy" : "healthy")
            .setProblem(ailment.map(GpuFault::problem).orElse(""));
    health.sample(gpu).ifPresent(sample -> measure(info, sample));
    Faults faults = health.faults(gpu);
    return info.setFaults(faults.count()).addAllLastFaults(faults.last()).build();
  }

  /** One lease, with its GPUs and programs. */
  DescribeLeaseReply describe(Lease lease) {
    Map<String, ServerStatus> told = statuses.all();
    DescribeLeaseReply.Builder reply = DescribeLeaseReply.newBuilder().setLease(info(lease, told));
    for (Part part : lease.parts()) {
      reply.addGpus(
          capacity.gpus().stream()
              .filter(gpu ->
                  gpu.server().equals(part.gpu().server()) && gpu.ordinal() == part.gpu().ordinal())
              .findFirst()
              .map(this::info)
              .orElse(GpuInfo.getDefaultInstance()));
    }
    sessions.all().stream()
        .filter(session -> session.lease == lease)
        .forEach(session -> reply.addSessions(info(session)));
    told.values().stream()
        .flatMap(status -> status.sessions().stream())
        .filter(session -> session.getLeaseId().equals(lease.id().text()))
        .forEach(reply::addSessions);
    return reply.build();
  }

  private static void measure(GpuInfo.Builder info, Reading sample) {
    sample.number("temperature").ifPresent(value -> info.setTemperatureCelsius((int) value));
    sample.number("power").ifPresent(value -> info.setPowerMilliwatts((int) value));
    sample.number("utilization").ifPresent(value -> info.setUtilizationPercent((int) value));
    sample.number("limit").ifPresent(value -> info.setPowerLimitMilliwatts((int) value));
    sample.number("fan").ifPresent(value -> info.setFanPercent((int) value));
    sample.number("performance").ifPresent(value -> info.setPerformanceState((int) value));
    sample.number("graphics").ifPresent(value -> info.setGraphicsMegahertz((int) value));
    sample.number("sm").ifPresent(value -> info.setSmMegahertz((int) value));
    sample.number("memory").ifPresent(value -> info.setMemoryMegahertz((int) value));
    sample.number("video").ifPresent(value -> info.setVideoMegahertz((int) value));
    sample.number("corrected").ifPresent(info::setCorrectedErrors);
    sample.number("ecc").ifPresent(info::setUncorrectedErrors);
    info.addAllPeers(sample.list("peers"));
  }

  /** How many GPUs a request counts, if it gets the largest that will do. */
  private double gpus(GpuRequirements requirements) {
    Selection selection = new Selection(requirements.selectors());
    return requirements.gpus()
        * capacity.gpus().stream()
            .filter(gpu -> selection.accepts(gpu::property))
            .max(Comparator.comparingLong(Gpu::memoryBytes))
            .map(gpu ->
                Math.min(1, ResourceUsage.milliGpus(gpu, requirements.shareOf(gpu)) / 1000.0))
            .orElse(1.0);
  }

  /** Those of the caller's tenant, or of the pods of the caller's node; an admin sees all. */
  ListLeasesReply leases(Principal principal) {
    ListLeasesReply.Builder reply = ListLeasesReply.newBuilder();
    Map<String, ServerStatus> told = statuses.all();
    for (Lease lease : finder.all()) {
      if (principal.maySee(lease.tenant(), lease.pod())) {
        reply.addLeases(info(lease, told));
      }
    }
    return reply.build();
  }

  /** One lease as lists have it. */
  LeaseInfo lease(Lease lease) {
    return info(lease, statuses.all()).build();
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

  private LeaseInfo.Builder info(Lease lease) {
    lease.noteWork(timers.nowNanos());
    LeaseInfo.Builder info =
        LeaseInfo.newBuilder()
            .setId(lease.id().text())
            .setState(lease.state().text())
            .setHolder(lease.holder().message())
            .setTenant(lease.tenant())
            .setAgeMillis(millisSince(lease.grantedAtNanos()))
            .setSessions(lease.sessions().size())
            .setIdleMillis(lease.clock().idleMillis(timers.nowNanos()))
            .setIdleTimeoutMillis(lease.clock().limits().idleMillis())
            .setTimeLimitMillis(lease.clock().limits().timeMillis())
            .setGraceMillis(lease.clock().limits().graceMillis())
            .setClass_(lease.leaseClass().text());
    lease.pod().ifPresent(pod -> info.setPod(pod.message()));
    for (int i = 0; i < lease.parts().size(); i++) {
      GrantUse.Builder use =
          GrantUse.newBuilder()
              .setGrant(grant(lease.parts().get(i)))
              .setGrantedGpuNanos(grantedElsewhereNanos(lease, lease.parts().get(i)));
      lease.topology().ownIndex(i).ifPresent(own -> use(use, lease, own));
      info.addGrants(use);
    }
    return info;
  }

  /** Of one of this server's own GPUs. */
  private void use(GrantUse.Builder use, Lease lease, int own) {
    TimeTable.Use time = lease.time().use(own);
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
    ServerEntry other = capacity.members().others().get(part.gpu().server());
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

  ListQueueReply queue(Principal principal) {
    ListQueueReply.Builder reply = ListQueueReply.newBuilder();
    Stream.concat(queue.here().stream(), queue.elsewhere().stream())
        .filter(position -> maySee(principal, position.request().spec()))
        .forEach(position -> reply.addRequests(info(position)));
    return reply.build();
  }

  private static boolean maySee(Principal principal, LeaseSpec spec) {
    return principal.maySee(spec.tenant(), spec.pod());
  }

  private QueueInfo info(QueuePosition position) {
    LeaseSpec spec = position.request().spec();
    GpuRequirements requirements = spec.requirements();
    QueueInfo.Builder info =
        QueueInfo.newBuilder()
            .setId(position.request().id())
            .setPosition(position.place())
            .setPriority(spec.priority())
            .setHolder(spec.holder().message())
            .setTenant(spec.tenant())
            .setWanted(requirements.describe())
            .setReason(position.reason())
            .setWaitedMillis(Math.max(0, millisSince(position.request().sinceNanos())))
            .setWaitLimitMillis(spec.waitMillis())
            .setGpus(gpus(requirements))
            .setModel(requirements.selectors().getOrDefault("model", ""))
            .setOverQuota(position.isOverQuota());
    spec.pod().ifPresent(pod -> info.setPod(pod.message()));
    return info.build();
  }

  ListSessionsReply sessions(Principal principal) {
    ListSessionsReply.Builder reply = ListSessionsReply.newBuilder();
    for (Session session : sessions.all()) {
      if (principal.maySee(session.lease.tenant())) {
        reply.addSessions(info(session));
      }
    }
    for (ServerStatus status : statuses.all().values()) {
      for (SessionInfo session : status.sessions()) {
        if (finder.tenantOf(session.getLeaseId()).filter(principal::maySee).isPresent()) {
          reply.addSessions(session);
        }
      }
    }
    return reply.build();
  }

  private SessionInfo info(Session session) {
    SessionStats stats = session.stats();
    SessionInfo.Builder info =
        SessionInfo.newBuilder()
            .setId(session.id.toString())
            .setLeaseId(session.lease.id().text())
            .setState(session.state().name().toLowerCase(Locale.ROOT))
            .setClient(session.client.message())
            .setWorkerPid(session.workerPid())
            .setCalls(stats.calls())
            .setCallsPerSecond(stats.callsPerSecond())
            .setReceivedBytes(stats.receivedBytes())
            .setSentBytes(stats.sentBytes())
            .setPeerReceivedBytes(stats.peerReceivedBytes())
            .setPeerSentBytes(stats.peerSentBytes())
            .setServer(server)
            .setGpuNanos(session.lease.time().charge(stats.gpuNanos()))
            .setWaitedNanos(stats.waitedNanos())
            .setThrottledNanos(stats.throttledNanos())
            .setDriverMemoryBytes(stats.driverMemoryBytes())
            .setLastError(stats.lastError())
            .setAgeMillis(millisSince(session.openedAtNanos));
    LeaseTime time = session.lease.time();
    long now = timers.nowNanos();
    for (int i = 0; i < session.lease.topology().own().size(); i++) {
      info.addUsedMemoryBytes(session.lease.ledger().usedBytes(i, session.slot()))
          .setGrantedGpuNanos(info.getGrantedGpuNanos() + session.grantedNanos(i, now))
          .setDebtGpuNanos(info.getDebtGpuNanos() + time.debtNanos(i, now));
    }
    return info.build();
  }

  /** What the other servers are told of this one. */
  public ServerStatus bulletin() {
    return new ServerStatus(
        timers.wallMillis(),
        info(),
        leases.all().stream()
            .filter(lease -> !lease.isRemote())
            .map(lease -> info(lease).build())
            .filter(PoolView::isUsed)
            .toList(),
        sessions.all().stream().map(this::info).toList());
  }

  private static boolean isUsed(LeaseInfo lease) {
    return lease.getSessions() > 0
        || lease.getGrantsList().stream().anyMatch(use -> use.getUsedGpuNanos() > 0);
  }

  private Grant grant(Part part) {
    return Grant.newBuilder()
        .setServer(part.gpu().server())
        .setGpu(part.gpu().ordinal())
        .setGpuUuid(part.gpu().uuid())
        .setGpuName(part.gpu().name())
        .setMemoryBytes(part.share().memoryBytes())
        .setComputePercent(part.share().computePercent())
        .setBackend(backendOf(part.gpu().server()))
        .setAddress(addressOf(part.gpu().server()).orElse(""))
        .setPartition(part.partition().orElse(""))
        .setHard(part.hard())
        .build();
  }

  private long millisSince(long nanos) {
    return (timers.nowNanos() - nanos) / NANOS_PER_MILLI;
  }
}
