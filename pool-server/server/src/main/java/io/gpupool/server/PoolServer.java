// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import io.gpupool.server.cache.TenantFiles;
import io.gpupool.server.calls.Calls;
import io.gpupool.server.calls.LocalCalls;
import io.gpupool.server.capacity.Capacity;
import io.gpupool.server.capacity.Membership;
import io.gpupool.server.capacity.Partitions;
import io.gpupool.server.control.AsyncStateStore;
import io.gpupool.server.control.ControlThread;
import io.gpupool.server.driver.DriverOptions;
import io.gpupool.server.driver.DriverOptions.Sharing;
import io.gpupool.server.driver.MpsControl;
import io.gpupool.server.elasticity.ExternalScalerService;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.gpu.GpuSpec;
import io.gpupool.server.health.GpuHealth;
import io.gpupool.server.health.GpuTrial;
import io.gpupool.server.health.GpuWatch;
import io.gpupool.server.history.UseHistory;
import io.gpupool.server.host.HeapTrim;
import io.gpupool.server.host.LinuxMemory;
import io.gpupool.server.lease.cluster.Drains;
import io.gpupool.server.lease.cluster.IdleServerTracker;
import io.gpupool.server.lease.cluster.PeerServerMonitor;
import io.gpupool.server.lease.cluster.Reconciler;
import io.gpupool.server.lease.cluster.SessionTerminations;
import io.gpupool.server.lease.cluster.StatusPublisher;
import io.gpupool.server.lease.lifecycle.LeaseFinder;
import io.gpupool.server.lease.lifecycle.LeaseService;
import io.gpupool.server.lease.lifecycle.LeaseUpdates;
import io.gpupool.server.lease.lifecycle.RoomSignal;
import io.gpupool.server.lease.queue.LeaseQueue;
import io.gpupool.server.lease.store.LeaseStore;
import io.gpupool.server.lease.store.QueueStore;
import io.gpupool.server.lease.usage.TimeTable;
import io.gpupool.server.lease.usage.TimeTable.Levels;
import io.gpupool.server.oidc.Logins;
import io.gpupool.server.records.RecordTypes;
import io.gpupool.server.records.ServerEntry;
import io.gpupool.server.sandbox.Sandbox;
import io.gpupool.server.sandbox.SandboxScope;
import io.gpupool.server.service.AdminService;
import io.gpupool.server.service.AdminView;
import io.gpupool.server.service.CallExecutors;
import io.gpupool.server.service.ControlReader;
import io.gpupool.server.service.PoolReader;
import io.gpupool.server.service.PoolService;
import io.gpupool.server.service.PoolView;
import io.gpupool.server.service.ScalerWatch;
import io.gpupool.server.service.ServerMode;
import io.gpupool.server.session.CallStreamPort;
import io.gpupool.server.session.DriverStart;
import io.gpupool.server.session.PeerDialer;
import io.gpupool.server.session.Sessions;
import io.gpupool.server.session.WorkerLaunch;
import io.gpupool.server.session.WorkerSocket;
import io.gpupool.server.session.Workers;
import io.gpupool.server.state.LocalStore;
import io.gpupool.server.state.RecordStore;
import io.gpupool.server.state.StateStore;
import io.gpupool.server.state.etcd.EtcdStore;
import io.gpupool.server.tenant.Access;
import io.gpupool.server.tenant.Audit;
import io.gpupool.server.tenant.FirstAdmin;
import io.gpupool.server.tenant.Tenants;
import io.gpupool.server.tenant.Tokens;
import io.gpupool.transport.Descriptors;
import io.gpupool.transport.EventLoops;
import io.gpupool.transport.UnixAddress;
import io.gpupool.transport.tls.TlsContext;
import io.gpupool.transport.tls.TlsEngines;
import io.gpupool.wire.BuildVersion;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallExecutorSupplier;
import io.grpc.ServerInterceptors;
import io.grpc.ServerServiceDefinition;
import io.grpc.netty.NettyServerBuilder;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.grpc.MetricCollectingServerInterceptor;
import io.micrometer.core.instrument.binder.netty4.NettyEventExecutorMetrics;
import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A running pool-server: its ports, its workers and the thread that owns its state. Started and
 * closed by any thread.
 */
public final class PoolServer implements AutoCloseable {
  private static final int MAX_MESSAGE_BYTES = 32 * 1024;

  /** Of a connection, what nobody has asked for yet is no more than this. */
  private static final int FLOW_WINDOW_BYTES = 64 * 1024;

  private static final long HANDSHAKE_SECONDS = 10;
  private static final long IDLE_MINUTES = 15;
  private static final int MAX_METADATA_BYTES = 8 * 1024;

  /** Each lease that is held takes one; a cluster's controller holds those of all its pods. */
  private static final int MAX_CALLS_PER_CONNECTION = 16_384;

  /** Compiled kernels and images of one tenant. */
  private static final long MAX_KERNEL_BYTES = 256L << 20;

  private static final long MAX_IMAGE_BYTES = 4L << 30;
  private static final long KEEP_ALIVE_SECONDS = 5;
  private static final long STOP_SECONDS = 5;
  private static final int NAME_BYTES = 8;
  private static final Logger LOG = LoggerFactory.getLogger(PoolServer.class);

  private final String name;
  private final Optional<MeterRegistry> meters;
  private final ControlThread control = new ControlThread();
  private final ExecutorService spawner = Executors.newSingleThreadExecutor(PoolServer::daemon);
  private final ExecutorService disk = Executors.newSingleThreadExecutor(PoolServer::diskDaemon);
  private final EventLoopGroup loops = EventLoops.create("gpupool-server", 1);
  private final UnixAddress workerAddress = new UnixAddress("@gpupool-" + randomName());
  private final List<Runnable> onClose = new ArrayList<>();
  private Sandbox sandbox = Sandbox.none();
  private List<Gpu> gpus = List.of();
  private String kind = "";
  private int controlPort;
  private int dataPort;
  private Optional<Path> adminToken = Optional.empty();
  private List<ServerServiceDefinition> services = List.of();
  private Optional<TlsContext> tls = Optional.empty();
  private PoolReader reader;
  private LocalCalls calls;
  private Drains drains;

  private PoolServer(String name, Optional<MeterRegistry> meters) {
    this.name = name;
    this.meters = meters;
  }

  /**
   * Finds the GPUs, opens the ports and starts warming spare workers.
   *
   * @throws IOException if there are no GPUs or a port is taken; the message is for people
   */
  public static PoolServer start(ServerOptions options) throws IOException {
    return start(options, Optional.empty());
  }

  /**
   * The same for a server that is measured.
   *
   * @param meters where its meters are registered
   */
  public static PoolServer start(ServerOptions options, Optional<MeterRegistry> meters)
      throws IOException {
    String own =
        options.listen().isLoopbackAddress()
            ? options.listen().getHostAddress()
            : InetAddress.getLocalHost().getHostName();
    String host = options.host().orElse(own);
    PoolServer server = new PoolServer(options.name().orElse(own), meters);
    try {
      server.open(options, host);
      return server;
    } catch (IOException | RuntimeException e) {
      server.close();
      throw e;
    }
  }

  public String name() {
    return name;
  }

  public int controlPort() {
    return controlPort;
  }

  public int dataPort() {
    return dataPort;
  }

  /** What it offers over gRPC. */
  List<ServerServiceDefinition> services() {
    return services;
  }

  /** A file with an admin's token, if one was made now because there was none. */
  public Optional<Path> adminToken() {
    return adminToken;
  }

  /** What its ports speak TLS with, and others of this server should; empty: they do not. */
  public Optional<TlsContext> tls() {
    return tls;
  }

  /** What it shows of itself, for other ports than its own. */
  public PoolReader reader() {
    return reader;
  }

  /** Its control plane for other ports than its own: the same methods, the same rights. */
  public Calls calls() {
    return calls;
  }

  /** The walls around its workers. */
  public Sandbox sandbox() {
    return sandbox;
  }

  /** The GPUs it serves, one line each. */
  public List<String> describeGpus() {
    return gpus.stream().map(Gpu::describe).toList();
  }

  /** What it serves, in a few words: {@code 1 GPU in software}. */
  public String summary() {
    return gpus.size() + (gpus.size() == 1 ? " GPU" : " GPUs") + kind;
  }

  /**
   * Grants nothing more and refuses who waits, as before an end in order. Leases go on.
   *
   * @param whenEmpty runs on another thread once no lease is left
   */
  public void drain(Runnable whenEmpty) {
    control.execute(() -> drains.stop(whenEmpty));
  }

  /** Ends all leases and waits, within bounds, until all workers are dead. */
  @Override
  public void close() {
    for (Runnable step : onClose.reversed()) {
      step.run();
    }
    onClose.clear();
    control.stop();
    spawner.shutdown();
    disk.shutdown();
    loops.shutdownGracefully(0, STOP_SECONDS, TimeUnit.SECONDS).awaitUninterruptibly();
  }

  private void open(ServerOptions options, String host) throws IOException {
    openTls(options);
    RecordStore records = openState(options);
    Descriptors.warmUp();
    Optional<List<Gpu>> driver =
        options.gpus().isSoft() ? Optional.empty() : Inventory.probeDriver(options, name);
    GpuSpec served = options.gpus();
    if (driver.isEmpty() && !served.isSoft()) {
      LOG.info("no NVIDIA driver found; serving one GPU in software instead (--gpus soft:1)");
      served = Inventory.FALLBACK;
    }
    // Workers start while the software's inventory is taken.
    Workers workers = openWorkers(options, served, driver);
    gpus =
        (driver.isPresent() ? driver.get() : Inventory.probe(options, served, name))
            .stream().map(gpu -> gpu.withLabels(options.labels())).toList();
    if (served.isSoft()) {
      kind = options.gpus().isSoft() ? " in software" : " in software (no NVIDIA driver found)";
    }
    openService(options, host, workers, served, records);
  }

  /** gRPC calls the interceptor that was added last before the others. */
  private static void measure(
      MeterRegistry meters, Leases leases, EventLoopGroup network, NettyServerBuilder builder) {
    leases.tally().measureIn(meters);
    new NettyEventExecutorMetrics(network).bindTo(meters);
    builder.intercept(new MetricCollectingServerInterceptor(meters));
  }

  private void openTls(ServerOptions options) throws IOException {
    if (!options.tls().areNone()) {
      TlsContext opened = TlsContext.following(options.tls());
      onClose.add(opened::close);
      tls = Optional.of(opened);
      LOG.info("TLS with the {}", opened.describe().orElseThrow());
    }
  }

  private Optional<TlsContext> streamTls(ServerOptions options) {
    return tls.filter(opened -> !options.clearCallStreams());
  }

  private Optional<TlsContext> peerTls(ServerOptions options) throws IOException {
    if (streamTls(options).isEmpty() || options.etcd().isEmpty()) {
      return Optional.empty();
    }
    TlsContext opened = TlsContext.following(options.peerTls());
    onClose.add(opened::close);
    return Optional.of(opened);
  }

  /** Encrypting takes time that the loop of the workers' sockets should not wait for. */
  private EventLoopGroup networkLoops() {
    if (tls.isEmpty()) {
      return loops;
    }
    EventLoopGroup several =
        EventLoops.create("gpupool-tls", Runtime.getRuntime().availableProcessors());
    onClose.add(() -> several.shutdownGracefully(0, STOP_SECONDS, TimeUnit.SECONDS));
    return several;
  }

  /** Before anything else, so that nothing is started where the state cannot be used. */
  private RecordStore openState(ServerOptions options) throws IOException {
    StateStore store =
        options.etcd().isPresent()
            ? new AsyncStateStore(EtcdStore.open(options.etcd().get(), name), control)
            : options.state().isPresent()
                ? LocalStore.open(options.state().get())
                : LocalStore.inMemory();
    onClose.add(store::close);
    return new RecordStore(store, RecordTypes.ALL);
  }

  private static boolean isMps(ServerOptions options, GpuSpec served) {
    return !served.isSoft() && options.driver().sharing() == Sharing.mps;
  }

  /** Programs of one lease share a software GPU at any moment, as its cores do. */
  private static Levels levels(ServerOptions options, GpuSpec served) {
    if (served.isSoft()) {
      return Levels.LEASES;
    }
    return isMps(options, served) ? Levels.PROGRAMS : Levels.LEASES_AND_PROGRAMS;
  }

  private Workers openWorkers(ServerOptions options, GpuSpec served, Optional<List<Gpu>> driver)
      throws IOException {
    Optional<MpsControl> mps =
        driver.isPresent() && options.driver().sharing() == Sharing.mps
            ? Optional.of(MpsControl.start())
            : Optional.empty();
    mps.ifPresent(started -> onClose.add(started::close));
    boolean slices = driver.stream().flatMap(List::stream).anyMatch(Gpu::isSlice);
    DriverStart start =
        driver.isEmpty()
            ? DriverStart.NEVER
            : mps.isPresent() || slices ? DriverStart.ASSIGNED : DriverStart.EARLY;
    sandbox =
        Sandbox.open(
            options.worker().sandbox(),
            new SandboxScope(
                driver.isEmpty(),
                options.driver().libraries(),
                Optional.ofNullable(System.getenv("LD_LIBRARY_PATH")),
                mps.map(MpsControl::folders).orElse(List.of())));
    Workers workers =
        new Workers(
            new WorkerLaunch(
                options.worker(),
                workerAddress.text(),
                workerArguments(options, served, driver.orElse(List.of())),
                mps.map(MpsControl::environment).orElse(Map.of()),
                start,
                sandbox),
            options.spares(),
            options.refill(),
            control,
            control,
            spawner);
    WorkerSocket socket = new WorkerSocket(workerAddress, loops, control, workers);
    onClose.add(socket::close);
    onClose.add(() -> await(done -> control.execute(() -> workers.stop(done))));
    control.execute(workers::refill);
    return workers;
  }

  private void openService(
      ServerOptions options, String host, Workers workers, GpuSpec served, RecordStore records)
      throws IOException {
    Optional<Membership> membership =
        options.etcd().map(ignored -> new Membership(records, name, gpus));
    Capacity capacity =
        membership.isPresent()
            ? new Capacity(membership.get(), records)
            : new Capacity(gpus, records);
    Audit audit = new Audit(records, control, name);
    Tenants tenants = new Tenants(records, audit, control);
    Optional<Logins> logins = Logins.of(options.oidc(), options.kubernetes());
    logins.ifPresent(opened -> onClose.add(opened::close));
    Tokens tokens = new Tokens(records, audit, control, options.needsTokens(), logins);
    TimeTable times = new TimeTable(gpus.size(), levels(options, served));
    // Last of all, when no session is left that would be taken out of it.
    onClose.addFirst(() -> close(times));
    LeaseStore store = new LeaseStore(records, audit, capacity.members(), control, name);
    PeerServerMonitor peers = new PeerServerMonitor(records, capacity.members(), control);
    RoomSignal room = new RoomSignal();
    LeaseService leases = new LeaseService(store, capacity, control, times, room, peers::noteWork);
    LeaseFinder finder = new LeaseFinder(leases, store, capacity.members(), control);
    LeaseQueue queue =
        new LeaseQueue(
            leases,
            finder,
            capacity,
            tenants,
            control,
            options.limits().queue(),
            membership.map(m -> new QueueStore(records, m, name, control)));
    room.whenFreed(queue::settle);
    EventLoopGroup network = networkLoops();
    PeerDialer dialer = new PeerDialer(capacity.members(), network, peerTls(options));
    Sessions sessions =
        new Sessions(
            leases,
            tokens,
            workers,
            control,
            control,
            dialer,
            options.limits().sessions(),
            new LinuxMemory(),
            keptFiles(System.getenv()),
            disk);
    Partitions partitions = new Partitions(records, audit, capacity);
    drains = new Drains(records, audit, capacity, leases, queue, control, name);
    if (options.needsTokens()) {
      adminToken = FirstAdmin.ensure(records, tokens, control, options.adminFolder());
    }
    IdleServerTracker idleServers = new IdleServerTracker(capacity, control);
    control.execute(new HeapTrim(control)::start);
    records.whenChanged(RecordTypes.GRANTS, () -> control.execute(idleServers::note));
    records.whenChanged(RecordTypes.GPU_FAULTS, () -> control.execute(queue::settle));
    GpuHealth health = openHealth(options, served, records);
    StatusPublisher statuses = new StatusPublisher(records, capacity.members(), name, control);
    SessionTerminations terminations = new SessionTerminations(records, statuses, name);
    leases.restore();
    UseHistory history = UseHistory.open(gpus, leases, control, options.historyFolder(), disk);
    control.execute(history::start);
    onClose.add(() -> await(done -> control.execute(() -> close(history, done))));
    drains.start();
    CallStreamPort port =
        new CallStreamPort(
            new InetSocketAddress(options.listen(), options.dataPort()),
            network,
            streamTls(options),
            (hello, stream) -> control.execute(() -> sessions.join(hello, stream)));
    onClose.add(port::close);
    dataPort = port.port();
    PoolView view =
        new PoolView(
            name,
            () -> host + ":" + controlPort,
            BuildVersion.TEXT,
            new ServerMode(options.isDevelopment(), streamTls(options).isPresent()),
            served.isSoft() ? "soft" : "nvidia",
            capacity,
            leases,
            finder,
            queue,
            sessions,
            workers,
            drains,
            idleServers,
            health,
            statuses,
            records,
            control,
            history);
    AdminView adminView = new AdminView(capacity, partitions, tenants, tokens);
    CallExecutors threads = new CallExecutors(control, control.readOnlyExecutor());
    reader = new ControlReader(threads.readOnly(), tokens, view, adminView, workers, records);
    ControlConnections connections = new ControlConnections();
    Access access = new Access(tokens, control, control, connections::proven);
    NettyServerBuilder builder =
        NettyServerBuilder.forAddress(
            new InetSocketAddress(options.listen(), options.controlPort()));
    tls.ifPresent(context -> builder.sslContext(TlsEngines.http2(context, false)));
    builder.intercept(access);
    meters.ifPresent(to -> measure(to, leases, network, builder));
    Server grpc =
        builder
            .channelFactory(connections::listening)
            .bossEventLoopGroup(network)
            .workerEventLoopGroup(network)
            .directExecutor()
            .callExecutor(switching(threads))
            .maxInboundMessageSize(MAX_MESSAGE_BYTES)
            .flowControlWindow(FLOW_WINDOW_BYTES)
            .handshakeTimeout(HANDSHAKE_SECONDS, TimeUnit.SECONDS)
            .maxConnectionIdle(IDLE_MINUTES, TimeUnit.MINUTES)
            .maxInboundMetadataSize(MAX_METADATA_BYTES)
            .maxConcurrentCallsPerConnection(MAX_CALLS_PER_CONNECTION)
            .keepAliveTime(KEEP_ALIVE_SECONDS, TimeUnit.SECONDS)
            .keepAliveTimeout(KEEP_ALIVE_SECONDS, TimeUnit.SECONDS)
            .permitKeepAliveTime(1, TimeUnit.SECONDS)
            .permitKeepAliveWithoutCalls(true)
            .addService(
                new PoolService(
                    queue,
                    leases,
                    finder,
                    new LeaseUpdates(
                        leases, finder, room, records, audit, capacity, isMps(options, served)),
                    sessions,
                    statuses,
                    terminations,
                    view,
                    audit,
                    dataPort,
                    options.clearCallStreams()))
            .addService(
                new AdminService(
                    partitions, tenants, tokens, audit, adminView, leases, queue, drains, view))
            .addService(new ExternalScalerService(new ScalerWatch(tokens, view, control)))
            .build()
            .start();
    services = grpc.getServices();
    calls =
        new LocalCalls(
            threads::of,
            services.stream().map(s -> ServerInterceptors.intercept(s, access)).toList());
    controlPort = grpc.getPort();
    onClose.add(() -> stop(grpc));
    onClose.add(() ->
        await(done ->
            control.execute(() -> {
              drains.endAll();
              done.run();
            })));
    membership.ifPresent(m -> exchange(statuses, terminations, records, sessions, view));
    membership.ifPresent(m ->
        join(
            m,
            new Reconciler(
                records,
                store,
                m,
                leases,
                queue,
                peers,
                control,
                () ->
                    new ServerEntry(
                        name,
                        host + ":" + controlPort,
                        BuildVersion.TEXT,
                        served.isSoft() ? "soft" : "nvidia",
                        gpus,
                        control.wallMillis(),
                        dataPort,
                        streamTls(options).isPresent(),
                        isMps(options, served)))));
    LOG.info(
        "serving {} GPU(s): control {}:{}, call streams {}",
        gpus.size(),
        host,
        controlPort,
        dataPort);
  }

  /** With the memory that the probe has seen a context take, if the operator does not say it. */
  private static List<String> workerArguments(
      ServerOptions options, GpuSpec served, List<Gpu> gpus) {
    List<String> arguments = new ArrayList<>(options.backendArguments(served));
    long contextBytes = gpus.stream().mapToLong(gpu -> gpu.facts().contextBytes()).max().orElse(0);
    if (contextBytes > 0 && options.driver().contextBytes().isEmpty()) {
      arguments.addAll(DriverOptions.contextArguments(contextBytes));
    }
    return arguments;
  }

  /** Watches GPUs of the driver; those in software have no faults of their own. */
  private GpuHealth openHealth(ServerOptions options, GpuSpec served, RecordStore records) {
    List<String> backend = options.backendArguments(served);
    GpuHealth health =
        new GpuHealth(
            gpus, new GpuTrial(options.worker(), backend)::run, records, control, control);
    if (!served.isSoft()) {
      GpuWatch watch =
          new GpuWatch(
              options.worker(),
              backend,
              reading -> control.execute(() -> health.onReading(reading)));
      onClose.add(watch::close);
      watch.start();
      control.execute(health::start);
    }
    return health;
  }

  /** Calls are begun on the threads of the network, and go to their own at once. */
  private static ServerCallExecutorSupplier switching(CallExecutors threads) {
    return new ServerCallExecutorSupplier() {
      @Override
      public <Q, A> Executor getExecutor(ServerCall<Q, A> call, Metadata headers) {
        return threads.of(call.getMethodDescriptor());
      }
    };
  }

  /** Has the other servers know what only this one does, and heeds what they say. */
  private void exchange(
      StatusPublisher statuses,
      SessionTerminations terminations,
      RecordStore records,
      Sessions sessions,
      PoolView view) {
    records.whenChanged(
        RecordTypes.SESSION_TERMINATIONS,
        () -> control.execute(() -> terminations.apply(sessions)));
    control.execute(() -> statuses.start(view::bulletin));
  }

  /** Comes into a pool of several servers, and leaves it before anything is closed. */
  private void join(Membership members, Reconciler reconciler) {
    reconciler.start(control);
    onClose.add(() ->
        await(done ->
            control.execute(() -> {
              members.leave();
              done.run();
            })));
  }

  private void close(UseHistory history, Runnable done) {
    history.close();
    disk.execute(done);
  }

  private static void close(TimeTable times) {
    try {
      times.close();
    } catch (IOException e) {
      LOG.warn("cannot close the table of GPU times", e);
    }
  }

  private static void stop(Server grpc) {
    grpc.shutdown();
    try {
      if (!grpc.awaitTermination(1, TimeUnit.SECONDS)) {
        grpc.shutdownNow().awaitTermination(1, TimeUnit.SECONDS);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static void await(Consumer<Runnable> start) {
    CountDownLatch done = new CountDownLatch(1);
    start.accept(done::countDown);
    try {
      if (!done.await(STOP_SECONDS, TimeUnit.SECONDS)) {
        LOG.warn("stopping takes over {} s; going on", STOP_SECONDS);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** What sessions leave for later ones of their tenant. */
  private static Map<String, TenantFiles> keptFiles(Map<String, String> environment) {
    Map<String, TenantFiles> files = new HashMap<>();
    TenantFiles.of(environment, "GPUPOOL_KERNEL_CACHE", "kernels", MAX_KERNEL_BYTES, ".kernel")
        .ifPresent(kernels -> files.put("kernels", kernels));
    TenantFiles.of(environment, "GPUPOOL_IMAGE_CACHE", "images", MAX_IMAGE_BYTES, ".image")
        .ifPresent(images -> files.put("images", images));
    return files;
  }

  private static Thread daemon(Runnable task) {
    return daemon("gpupool-spawn", task);
  }

  private static Thread diskDaemon(Runnable task) {
    return daemon("gpupool-disk", task);
  }

  private static Thread daemon(String name, Runnable task) {
    Thread thread = new Thread(task, name);
    thread.setDaemon(true);
    return thread;
  }

  private static String randomName() {
    byte[] bits = new byte[NAME_BYTES];
    new SecureRandom().nextBytes(bits);
    return HexFormat.of().formatHex(bits);
  }
}
