// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import io.gpupool.server.autoscaling.ExternalScalerService;
import io.gpupool.server.control.ControlThread;
import io.gpupool.server.health.GpuHealth;
import io.gpupool.server.inprocess.InProcessStub;
import io.gpupool.server.records.ServerStatus;
import io.gpupool.server.service.AdminService;
import io.gpupool.server.service.CallExecutors;
import io.gpupool.server.service.LeaseCalls;
import io.gpupool.server.service.LeaseLookup;
import io.gpupool.server.service.LeaseMoveCall;
import io.gpupool.server.service.LeaseSuspendCall;
import io.gpupool.server.service.PoolService;
import io.gpupool.server.service.SessionCalls;
import io.gpupool.server.service.SessionCalls.CallStreams;
import io.gpupool.server.tenant.AuthInterceptor;
import io.gpupool.server.view.AdminView;
import io.gpupool.server.view.ControlReader;
import io.gpupool.server.view.GpuView;
import io.gpupool.server.view.LeaseView;
import io.gpupool.server.view.MetricsView;
import io.gpupool.server.view.PoolReader;
import io.gpupool.server.view.PoolView;
import io.gpupool.server.view.QueueView;
import io.gpupool.server.view.ScalerWatch;
import io.gpupool.server.view.ServerDirectory;
import io.gpupool.server.view.ServerMode;
import io.gpupool.server.view.ServerStates;
import io.gpupool.server.view.ServerView;
import io.gpupool.server.view.SessionView;
import io.gpupool.server.worker.WorkerPool;
import io.grpc.BindableService;
import io.grpc.Server;
import io.grpc.ServerInterceptors;
import io.grpc.ServerServiceDefinition;
import java.io.IOException;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The control plane of a server: its views, its services and the port where they are called. */
final class ControlPlane {
  private final ServerContext context;
  private final PoolState state;
  private final LeasePlane leases;
  private final StreamPlane streams;
  private final ClusterPlane cluster;
  private final PoolView view;
  private final AdminView adminView;
  private final PoolReader reader;
  private List<ServerServiceDefinition> services = List.of();
  private @Nullable InProcessStub calls;
  private int port;

  ControlPlane(
      ServerContext context,
      PoolState state,
      LeasePlane leases,
      StreamPlane streams,
      ClusterPlane cluster,
      WorkerPool workers,
      GpuHealth health) {
    this.context = context;
    this.state = state;
    this.leases = leases;
    this.streams = streams;
    this.cluster = cluster;
    view = view(workers, health);
    adminView =
        new AdminView(
            state.capacity(), state.partitions(), state.tenants(), state.tokens(), state.audit());
    reader =
        new ControlReader(
            context.threads().control().readOnlyExecutor(),
            state.tokens(),
            view,
            adminView,
            leases.history(),
            state.records());
  }

  private PoolView view(WorkerPool workers, GpuHealth health) {
    ControlThread control = context.threads().control();
    ServerDirectory directory =
        new ServerDirectory(
            context.name(),
            () -> context.host() + ":" + port,
            context.served().backend(),
            new ServerMode(context.options().isDevelopment(), context.tls().streams() != null),
            state.capacity().members());
    return new PoolView(
        new ServerView(
            directory,
            state.capacity(),
            leases.finder(),
            streams.sessions(),
            workers,
            new ServerStates(leases.drains(), leases.idleServers()),
            cluster.statuses(),
            control),
        new GpuView(state.capacity(), health),
        new LeaseView(
            directory, leases.finder(), leases.store().suspensions(), cluster.statuses(), control),
        new QueueView(leases.queue(), state.capacity(), control),
        new SessionView(
            directory, streams.sessions(), leases.finder(), cluster.statuses(), control),
        new MetricsView(
            context.name(), leases.leases(), streams.sessions(), workers, state.records(), control),
        directory,
        control);
  }

  /** Opens the port. */
  void open() throws IOException {
    ControlThread control = context.threads().control();
    CallExecutors executors = new CallExecutors(control, control.readOnlyExecutor());
    if (context.meters() != null) {
      leases.leases().metrics().measureIn(context.meters());
    }
    ControlConnections connections = new ControlConnections();
    AuthInterceptor access =
        new AuthInterceptor(state.tokens(), control, control, connections::proven);
    Server grpc =
        GrpcPort.open(
            context,
            streams.network(),
            connections,
            access,
            executors,
            List.of(poolService(), adminService(), scalerService()));
    port = grpc.getPort();
    services = grpc.getServices();
    calls =
        new InProcessStub(
            executors::of,
            services.stream()
                .map(service -> ServerInterceptors.intercept(service, access))
                .toList());
  }

  private BindableService poolService() {
    LeaseLookup lookup = new LeaseLookup(leases.finder(), leases.queue());
    return new PoolService(
        new LeaseCalls(
            leases.queue(),
            leases.leases(),
            leases.finder(),
            leases.updates(),
            new LeaseMoveCall(leases.moves(), streams.sessions().moves(), view.directory()),
            view.leases(),
            state.audit()),
        new LeaseSuspendCall(
            leases.suspensions(),
            streams.sessions().suspensions(),
            leases.finder(),
            state.capacity(),
            view.directory()),
        new SessionCalls(
            lookup,
            streams.sessions(),
            cluster.statuses(),
            cluster.terminations(),
            view,
            state.audit(),
            new CallStreams(
                streams.port(),
                context.options().tls().clearCallStreams(),
                context.options().tls().sealsCallStreams(),
                streams.local())),
        lookup,
        view);
  }

  private BindableService adminService() {
    return new AdminService(
        state.partitions(),
        state.tenants(),
        state.tokens(),
        adminView,
        leases.leases(),
        leases.queue(),
        leases.drains(),
        view.servers());
  }

  private BindableService scalerService() {
    return new ExternalScalerService(
        new ScalerWatch(state.tokens(), view, context.threads().control()));
  }

  /** The port of the control plane, once it is open. */
  int port() {
    return port;
  }

  List<ServerServiceDefinition> services() {
    return services;
  }

  InProcessStub calls() {
    return Objects.requireNonNull(calls, "the port is not open");
  }

  PoolReader reader() {
    return reader;
  }

  /** The status of this server for the others. */
  ServerStatus status() {
    return view.status();
  }
}
