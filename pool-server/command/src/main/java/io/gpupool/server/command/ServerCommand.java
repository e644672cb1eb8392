// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.command;

import io.gpupool.cli.Installation;
import io.gpupool.cli.server.ServerDrain;
import io.gpupool.rest.HealthServer;
import io.gpupool.rest.RestServer;
import io.gpupool.rest.metrics.PoolReporter;
import io.gpupool.runtime.LogConfiguration;
import io.gpupool.server.PoolServer;
import io.gpupool.server.options.AuthOptions;
import io.gpupool.server.options.NameOptions;
import io.gpupool.server.options.PortOptions;
import io.gpupool.server.options.ServerOptions;
import io.gpupool.server.options.WorkerOptions;
import io.gpupool.server.sandbox.OomScore;
import io.gpupool.transport.metrics.MetricOptions;
import io.gpupool.transport.metrics.OtlpCollector;
import io.gpupool.transport.metrics.ProcessMeters;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code gpupool server}: serves this machine's GPUs to the pool until it is told to end. */
@Command(
    name = "server",
    description =
        "Serves the GPUs of this machine; drain and uncordon take a server of a pool out of service"
            + " and put it back.",
    subcommands = {ServerDrain.Drain.class, ServerDrain.Uncordon.class})
public final class ServerCommand implements Callable<Integer> {
  @Mixin private GpuServerOptions gpus = new GpuServerOptions();

  @Option(
      names = "--listen",
      paramLabel = "HOST",
      defaultValue = "0.0.0.0",
      description = "the address of all ports (default: ${DEFAULT-VALUE})")
  @SuppressWarnings("NullAway.Init") // has a default value
  private InetAddress listen;

  @Option(
      names = "--control-port",
      paramLabel = "PORT",
      defaultValue = "" + PortOptions.CONTROL,
      description = "gRPC; 0: any (default: ${DEFAULT-VALUE})")
  private int controlPort;

  @Option(
      names = "--data-port",
      paramLabel = "PORT",
      defaultValue = "" + PortOptions.DATA,
      description = "call streams; 0: any (default: ${DEFAULT-VALUE})")
  private int dataPort;

  @Mixin private LocalSocketServerOptions local = new LocalSocketServerOptions();

  @Mixin private StateServerOptions state = new StateServerOptions();

  @Mixin private TlsServerOptions tls = new TlsServerOptions();

  @Option(
      names = "--auth",
      paramLabel = "tokens|none",
      description = "how callers prove who they are (default: none on loopback, else tokens)")
  private AuthOptions.@Nullable Method auth;

  @Mixin private OidcServerOptions oidc = new OidcServerOptions();

  @Mixin private LimitOptions limits = new LimitOptions();

  @Mixin private KubernetesServerOptions kubernetes = new KubernetesServerOptions();

  @Option(
      names = "--http-port",
      paramLabel = "PORT",
      defaultValue = "" + RestServer.PORT,
      description = "REST, metrics and health; 0: any (default: ${DEFAULT-VALUE})")
  private int httpPort;

  @Option(
      names = "--health-port",
      paramLabel = "PORT",
      description = {
        "health checks alone, in clear text and without tokens, on a port of their own; 0: any",
        "(default: none; they are on the HTTP port, too)"
      })
  private @Nullable Integer healthPort;

  @Option(names = "--no-http", description = "opens no HTTP port")
  private boolean noHttp;

  @Mixin private MetricOptions metrics = new MetricOptions();

  @Option(names = "--name", paramLabel = "NAME", description = "the server's name in the pool")
  private @Nullable String name;

  @Option(
      names = "--host",
      paramLabel = "NAME",
      description =
          "by which clients and the pool's other servers reach it (default: the machine's name)")
  private @Nullable String host;

  @Mixin private SandboxServerOptions sandbox = new SandboxServerOptions();

  @Option(
      names = "--spares",
      paramLabel = "N",
      defaultValue = "1",
      description = "workers kept warm for the next program (default: ${DEFAULT-VALUE})")
  private int spares;

  /** The forms of the log. */
  enum LogFormat {
    text,
    json
  }

  @Option(
      names = "--log-format",
      paramLabel = "text|json",
      description = "how lines of the log look (else GPUPOOL_LOG_FORMAT, else text)")
  private @Nullable LogFormat logFormat;

  @Mixin private EndServerOptions end = new EndServerOptions();

  @Override
  public Integer call() throws Exception {
    if (logFormat != null) {
      LogConfiguration.setFormat(logFormat.name());
    }
    LogConfiguration.forService();
    PortOptions.check(httpPort);
    if (healthPort != null) {
      PortOptions.check(healthPort);
    }
    ServerEnd serverEnd = new ServerEnd(end);
    ServerOptions options = options();
    serverEnd.requireMachineStays();
    OomScore.protectServer();
    Optional<OtlpCollector> collector = metrics.collector();
    try (ProcessMeters meters = new ProcessMeters("gpupool-server", collector.orElse(null));
        PoolServer server = PoolServer.start(options, meters.registry());
        RestServer rest = openHttp(server, meters);
        HealthServer health = openHealth(server);
        PoolReporter _ = collector.map(to -> report(server, meters, to)).orElse(null)) {
      server.describeGpus().forEach(System.out::println);
      server.adminToken().ifPresent(file -> System.out.println("an admin's token is in " + file));
      describeSecurity(options, server);
      System.out.println(
          "gpupool server " + server.name() + " ready: " + ports(server, rest, health));
      System.out.flush();
      serverEnd.await(server);
    }
    return 0;
  }

  private ServerOptions options() {
    return new ServerOptions(
        gpus.options(),
        new PortOptions(listen, controlPort, dataPort, local.options()),
        new NameOptions(name, host),
        state.options(),
        tls.options(),
        new AuthOptions(
            auth == null ? AuthOptions.Method.defaultAt(listen) : auth,
            oidc.options().orElse(null),
            kubernetes.options().orElse(null)),
        new WorkerOptions(sandbox.worker(Installation.find()), spares, true),
        limits.options());
  }

  private String ports(
      PoolServer server, @Nullable RestServer rest, @Nullable HealthServer health) {
    String address = listen.getHostAddress() + ":";
    return "control "
        + address
        + server.controlPort()
        + ", call streams "
        + address
        + server.dataPort()
        + (rest == null ? "" : ", HTTP " + address + rest.port())
        + (health == null ? "" : ", health " + address + health.port());
  }

  private void describeSecurity(ServerOptions options, PoolServer server) {
    System.out.println(server.sandbox().describe());
    if (options.isDevelopment()) {
      System.out.println(
          "development mode (--auth none): callers need no token and may do anything"
              + (listen.isLoopbackAddress() ? "; only this machine can connect" : ""));
    }
    if (server.tls().isPresent()) {
      System.out.println(
          "TLS: "
              + server.tls().get().describe().orElseThrow()
              + (server.tls().get().asksForCertificates()
                  ? "; clients need a certificate, too (--tls-client-ca)"
                  : ""));
    } else if (!listen.isLoopbackAddress()) {
      System.out.println(
          "no TLS: tokens and data cross the network as they are; give --tls-cert and --tls-key");
    }
  }

  /** Opens the HTTP port, if one is wanted; the try statement accepts null. */
  private @Nullable RestServer openHttp(PoolServer server, ProcessMeters meters)
      throws IOException {
    return noHttp
        ? null
        : RestServer.start(
            server.reader(),
            server.calls(),
            new InetSocketAddress(listen, httpPort),
            server.tls().orElse(null),
            meters);
  }

  private static PoolReporter report(PoolServer server, ProcessMeters meters, OtlpCollector to) {
    return PoolReporter.start(server.reader(), meters.sent().orElseThrow(), to.step());
  }

  /** Opens the health port, if one is wanted. */
  private @Nullable HealthServer openHealth(PoolServer server) throws IOException {
    return healthPort == null
        ? null
        : HealthServer.start(server.reader(), new InetSocketAddress(listen, healthPort));
  }
}
