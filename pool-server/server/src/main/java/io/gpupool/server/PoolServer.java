// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import io.gpupool.server.control.ControlThread;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.health.GpuHealth;
import io.gpupool.server.health.GpuTrial;
import io.gpupool.server.health.GpuWatch;
import io.gpupool.server.host.HeapTrim;
import io.gpupool.server.inprocess.PoolStub;
import io.gpupool.server.inventory.ServedGpus;
import io.gpupool.server.options.ServerOptions;
import io.gpupool.server.sandbox.Sandbox;
import io.gpupool.server.state.RecordStore;
import io.gpupool.server.view.PoolReader;
import io.gpupool.transport.Descriptors;
import io.gpupool.transport.tls.TlsContext;
import io.grpc.ServerServiceDefinition;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A running pool-server: its ports, its workers and the thread that owns its state. Started and
 * closed by any thread.
 */
public final class PoolServer implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(PoolServer.class);

  private final String name;
  private final ServerThreads threads;
  private final CloseSteps steps;
  private final Departure departure;
  private final ServerTls tls;
  private final ServedGpus served;
  private final WorkerPlane workers;
  private final PoolState state;
  private final LeasePlane leases;
  private final StreamPlane streams;
  private final ControlPlane control;

  private PoolServer(
      ServerOptions options,
      String name,
      String host,
      @Nullable MeterRegistry meters,
      ServerThreads threads,
      CloseSteps steps)
      throws IOException {
    this.name = name;
    this.threads = threads;
    this.steps = steps;
    tls = ServerTls.open(options, steps);
    // Before anything else, so that nothing is started where the state cannot be used.
    RecordStore records = PoolState.openRecords(options, name, threads.control(), steps);
    RunPlane run = RunPlane.open(options, name, steps);
    departure = new Departure(run.isThere());
    Descriptors.warmUp();
    ServedGpus.Probe probe = ServedGpus.Probe.of(options, name);
    // Workers start while the software's inventory is taken.
    workers = WorkerPlane.open(options, probe, run, departure, threads, steps);
    served = probe.complete(options, name);
    ServerContext context =
        new ServerContext(name, host, options, served, tls, meters, threads, steps);
    state = new PoolState(context, records);
    TakeoverPlane takeover = TakeoverPlane.open(run, records, workers.workers(), threads);
    leases = new LeasePlane(context, state, takeover.usage());
    GpuHealth health = openHealth(context, records);
    streams = StreamPlane.open(context, state, leases, workers.workers(), run, takeover);
    ClusterPlane cluster = new ClusterPlane(context, state);
    control = new ControlPlane(context, state, leases, streams, cluster, workers.workers(), health);
    control.open();
    steps.addAwaited(done ->
        threads
            .control()
            .execute(() -> {
              if (departure.leaves()) {
                leases.drains().leave();
              } else {
                leases.drains().endAll();
              }
              done.run();
            }));
    cluster.join(
        leases,
        streams.sessions(),
        control::status,
        () -> cluster.entry(control.port(), streams.port()));
    threads.control().execute(new HeapTrim(threads.control())::start);
    LOG.info(
        "serving {} GPU(s): control {}:{}, call streams {}{}",
        served.gpus().size(),
        host,
        control.port(),
        streams.port(),
        streams.local() == null ? "" : " and " + streams.local());
  }

  /**
   * Finds the GPUs, opens the ports and starts warming spare workers.
   *
   * @throws IOException if there are no GPUs or a port is taken; the message is for people
   */
  public static PoolServer start(ServerOptions options) throws IOException {
    return start(options, null);
  }

  /**
   * The same for a server that is measured.
   *
   * @param meters where its meters are registered
   */
  public static PoolServer start(ServerOptions options, @Nullable MeterRegistry meters)
      throws IOException {
    InetAddress listen = options.ports().listen();
    String own =
        listen.isLoopbackAddress()
            ? listen.getHostAddress()
            : InetAddress.getLocalHost().getHostName();
    ServerThreads threads = new ServerThreads();
    CloseSteps steps = new CloseSteps();
    try {
      return new PoolServer(
          options,
          Objects.requireNonNullElse(options.names().name(), own),
          Objects.requireNonNullElse(options.names().host(), own),
          meters,
          threads,
          steps);
    } catch (IOException | RuntimeException e) {
      close(steps, threads);
      throw e;
    }
  }

  /** Watches GPUs of the driver; those in software have no faults of their own. */
  private static GpuHealth openHealth(ServerContext context, RecordStore records) {
    ControlThread control = context.threads().control();
    ServerOptions options = context.options();
    List<String> backend = options.gpus().backendArguments(context.served().spec());
    GpuHealth health =
        new GpuHealth(
            context.served().gpus(),
            new GpuTrial(options.workers().command(), backend)::run,
            records,
            control,
            control);
    if (!context.served().isSoft()) {
      GpuWatch watch =
          new GpuWatch(
              options.workers().command(),
              backend,
              reading -> control.execute(() -> health.onReading(reading)));
      context.steps().add(watch::close);
      watch.start();
      control.execute(health::start);
    }
    return health;
  }

  public String name() {
    return name;
  }

  public int controlPort() {
    return control.port();
  }

  public int dataPort() {
    return streams.port();
  }

  /** What it offers over gRPC. */
  List<ServerServiceDefinition> services() {
    return control.services();
  }

  /** A file with an admin's token, if one was made now because there was none. */
  public Optional<Path> adminToken() {
    return state.adminToken();
  }

  /** The TLS of its ports, which others of this server should use, too; empty: they speak none. */
  public Optional<TlsContext> tls() {
    return Optional.ofNullable(tls.ports());
  }

  /** What it shows of itself, for other ports than its own. */
  public PoolReader reader() {
    return control.reader();
  }

  /** Its control plane for other ports than its own: the same methods, the same rights. */
  public PoolStub calls() {
    return control.calls();
  }

  /** The sandbox around its workers. */
  public Sandbox sandbox() {
    return workers.sandbox();
  }

  /** The GPUs it serves, one line each. */
  public List<String> describeGpus() {
    return served.gpus().stream().map(Gpu::describe).toList();
  }

  /** The GPUs it serves, in a few words: {@code 1 GPU in software}. */
  public String summary() {
    return served.summary();
  }

  /**
   * Grants nothing more and refuses all requests that wait, as before an end in order. Leases go
   * on.
   *
   * @param move whether leases move to other servers
   * @param deadlineAtMillis when leases that are left are ended, since 1970; null: not by this
   * @param whenEmpty runs on another thread once no lease is left
   */
  public void drain(boolean move, @Nullable Long deadlineAtMillis, Runnable whenEmpty) {
    threads.control().execute(() -> leases.drains().stop(move, deadlineAtMillis, whenEmpty));
  }

  /** Returns whether its next process can take its sessions over when this one is closed. */
  public boolean leavesSessions() {
    return departure.leaves();
  }

  /** Has {@link #close} end all leases, and leave nothing to the next process. */
  public void leaveNothing() {
    departure.endAll();
  }

  /**
   * Leaves leases, and sessions that it can, to the server's next process; where there is none,
   * ends them all. Waits, within bounds, until the other workers are dead.
   */
  @Override
  public void close() {
    close(steps, threads);
  }

  private static void close(CloseSteps steps, ServerThreads threads) {
    steps.run();
    threads.stop();
  }
}
