// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.command;

import io.gpupool.cli.Installation;
import io.gpupool.cli.server.ServerDrain;
import io.gpupool.client.lease.LeaseOptions;
import io.gpupool.rest.HealthServer;
import io.gpupool.rest.RestServer;
import io.gpupool.rest.metrics.PoolReporter;
import io.gpupool.runtime.LogConfiguration;
import io.gpupool.server.PoolServer;
import io.gpupool.server.driver.DriverOptions;
import io.gpupool.server.driver.DriverOptions.Sharing;
import io.gpupool.server.gpu.GpuSpec;
import io.gpupool.server.options.ServerOptions;
import io.gpupool.server.options.ServerOptions.Auth;
import io.gpupool.server.options.ServerOptions.MissingPtx;
import io.gpupool.server.sandbox.OomScore;
import io.gpupool.server.state.etcd.EtcdOptions;
import io.gpupool.transport.Signals;
import io.gpupool.transport.metrics.MetricOptions;
import io.gpupool.transport.metrics.OtlpCollector;
import io.gpupool.transport.metrics.ProcessMeters;
import io.gpupool.transport.tls.TlsFiles;
import io.gpupool.wire.ByteSize;
import io.gpupool.wire.InFlightBound;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
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
  @Option(
      names = "--gpus",
      paramLabel = "GPUS",
      defaultValue = "all",
      description = {
        "all: those of the NVIDIA driver, or one in software where there is none;",
        "soft:N[,mem=SIZE][,cc=X.Y]: N in software (default: ${DEFAULT-VALUE})"
      })
  private String gpus = "all";

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
      defaultValue = "" + ServerOptions.CONTROL_PORT,
      description = "gRPC; 0: any (default: ${DEFAULT-VALUE})")
  private int controlPort;

  @Option(
      names = "--data-port",
      paramLabel = "PORT",
      defaultValue = "" + ServerOptions.DATA_PORT,
      description = "call streams; 0: any (default: ${DEFAULT-VALUE})")
  private int dataPort;

  @Option(
      names = "--state",
      paramLabel = "DIR|etcd://HOST[:PORT],.../PREFIX",
      description = {
        "where partitions, tenants, tokens and leases are kept: a folder of this server's, made if",
        "it is not there, or an etcd, which makes one pool of all servers that are given the same",
        "(default: nowhere, they are forgotten when the server ends)"
      })
  private Optional<String> state = Optional.empty();

  @Option(
      names = "--history",
      paramLabel = "DIR",
      description = {
        "where this server keeps what the time and memory of its GPUs went to in the last day, a",
        "folder of its own (default: that of --state; with etcd nowhere, it begins anew when the",
        "server does)"
      })
  private Optional<Path> history = Optional.empty();

  @ArgGroup(exclusive = false, heading = "Reaching etcd:%n")
  private EtcdFiles etcd = new EtcdFiles();

  @Option(
      names = "--auth",
      paramLabel = "tokens|none",
      description = "how callers prove who they are (default: none on loopback, else tokens)")
  private Optional<Auth> auth = Optional.empty();

  @Option(
      names = "--tls-cert",
      paramLabel = "FILE",
      description = {
        "TLS on all ports with this certificate, PEM, followed by those that lead to its root; read",
        "again when it is replaced (default: no TLS)"
      })
  private Optional<Path> tlsCertificate = Optional.empty();

  @Option(names = "--tls-key", paramLabel = "FILE", description = "its private key, PEM, PKCS#8")
  private Optional<Path> tlsKey = Optional.empty();

  @Option(
      names = "--tls-client-ca",
      paramLabel = "FILE",
      description = "only clients with a certificate that comes from one of these roots are let in")
  private Optional<Path> tlsClientRoots = Optional.empty();

  @Option(
      names = "--tls-peer-ca",
      paramLabel = "FILE",
      description = {
        "roots of the certificates of the pool's other servers, to which this one connects for",
        "programs with GPUs of several (default: those of --tls-client-ca, else this machine's)"
      })
  private Optional<Path> tlsPeerRoots = Optional.empty();

  @Option(
      names = "--clear-call-streams",
      description = {
        "call streams in clear text although the rest speaks TLS: programs then talk to their workers",
        "themselves, which is faster, over a network that nobody can read"
      })
  private boolean clearCallStreams;

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
  private Optional<Integer> healthPort = Optional.empty();

  @Option(names = "--no-http", description = "opens no HTTP port")
  private boolean noHttp;

  @Mixin private MetricOptions metrics = new MetricOptions();

  @Option(names = "--name", paramLabel = "NAME", description = "the server's name in the pool")
  private Optional<String> name = Optional.empty();

  @Option(
      names = "--host",
      paramLabel = "NAME",
      description =
          "by which clients and the pool's other servers reach it (default: the machine's name)")
  private Optional<String> host = Optional.empty();

  @Option(
      names = "--label",
      paramLabel = "KEY=VALUE",
      description = {
        "says something of its GPUs, such as zone=eu, which requests select by as label.zone=eu;",
        "may be repeated"
      })
  private Map<String, String> labels = new LinkedHashMap<>();

  @Option(
      names = "--libcuda",
      paramLabel = "PATH",
      description = "the NVIDIA driver's libcuda.so.1, where it is not on the usual path")
  private Optional<Path> libcuda = Optional.empty();

  @Option(
      names = "--libnvml",
      paramLabel = "PATH",
      description =
          "its libnvidia-ml.so.1, which tells of the GPUs' health, where it is not on the usual path")
  private Optional<Path> libnvml = Optional.empty();

  @Option(
      names = "--context-memory",
      paramLabel = "SIZE",
      description = {
        "memory of an NVIDIA GPU that each program's context takes by itself, such as 600Mi: counted",
        "against its lease (default: measured when the server starts)"
      })
  private Optional<String> contextMemory = Optional.empty();

  @Option(
      names = "--sharing",
      paramLabel = "timeslice|mps|driver",
      defaultValue = "timeslice",
      description = {
        "how the leases of an NVIDIA GPU share it: one after the other, each for its share of the time; at",
        "the same time through NVIDIA's Multi-Process Service, which this server then starts, each on its",
        "share of the multiprocessors, where its programs take turns; or as the driver does by itself,",
        "whatever their shares are (default: ${DEFAULT-VALUE})"
      })
  private Sharing sharing = Sharing.timeslice;

  @Option(
      names = "--in-flight-bound",
      paramLabel = "MILLIS",
      defaultValue = "" + InFlightBound.USUAL_MILLIS,
      description = {
        "how long the work of one lease may take that is under way on an NVIDIA GPU while another lease",
        "(by MPS: another program of the lease) wants it, 1 to 1000; a kernel that takes longer is under",
        "way alone (default: ${DEFAULT-VALUE})"
      })
  private int inFlightBoundMillis;

  @Mixin private SandboxServerOptions sandbox = new SandboxServerOptions();

  @Option(
      names = "--spares",
      paramLabel = "N",
      defaultValue = "1",
      description = "workers kept warm for the next program (default: ${DEFAULT-VALUE})")
  private int spares;

  @Option(
      names = "--soft-missing-ptx",
      paramLabel = "fail|skip",
      defaultValue = "fail",
      description = "a launch in software of a kernel without PTX (default: ${DEFAULT-VALUE})")
  private MissingPtx missingPtx = MissingPtx.fail;

  /** How lines of the log look. */
  enum LogFormat {
    text,
    json
  }

  @Option(
      names = "--log-format",
      paramLabel = "text|json",
      description = "how lines of the log look (else GPUPOOL_LOG_FORMAT, else text)")
  private Optional<LogFormat> logFormat = Optional.empty();

  @Option(
      names = "--drain-limit",
      paramLabel = "DURATION",
      defaultValue = "5s",
      description = {
        "how long leases may go on when the server is told to end (SIGTERM), which it does once none",
        "is left; a second signal ends it at once (default: ${DEFAULT-VALUE})"
      })
  private String drainLimit = "";

  @Option(
      names = "--drain-notice",
      paramLabel = "FILE",
      description = {
        "as soon as FILE is there, grant nothing more: who knows that this machine is about to be",
        "taken away leaves it there. Leases go on until the server is told to end"
      })
  private Optional<Path> drainNotice = Optional.empty();

  private OptionalLong contextBytes() {
    return contextMemory
        .map(text -> OptionalLong.of(ByteSize.parse(text).bytes()))
        .orElseGet(OptionalLong::empty);
  }

  @Override
  public Integer call() throws Exception {
    logFormat.ifPresent(format -> LogConfiguration.setFormat(format.name()));
    LogConfiguration.forService();
    ServerOptions.checkPort(httpPort);
    healthPort.ifPresent(ServerOptions::checkPort);
    Duration limit = LeaseOptions.duration(drainLimit);
    ServerOptions options =
        new ServerOptions(
            new GpuSpec(gpus),
            listen,
            controlPort,
            dataPort,
            state.filter(place -> !isEtcd(place)).map(Path::of),
            state.filter(ServerCommand::isEtcd).map(etcd::options),
            history,
            new TlsFiles(tlsCertificate, tlsKey, tlsClientRoots),
            tlsPeerRoots,
            clearCallStreams,
            auth,
            oidc.options(),
            kubernetes.options(),
            name,
            host,
            labels,
            new DriverOptions(libcuda, libnvml, contextBytes(), sharing, inFlightBoundMillis),
            spares,
            true,
            missingPtx,
            limits.options(),
            sandbox.worker(Installation.find()));
    OomScore.protectServer();
    Optional<OtlpCollector> collector = metrics.collector();
    try (ProcessMeters meters = new ProcessMeters("gpupool-server", collector);
        PoolServer server = PoolServer.start(options, Optional.of(meters.registry()));
        RestServer rest = openHttp(server, meters);
        HealthServer health = openHealth(server);
        PoolReporter _ = collector.map(to -> report(server, meters, to)).orElse(null)) {
      for (String gpu : server.describeGpus()) {
        System.out.println(gpu);
      }
      server.adminToken().ifPresent(file -> System.out.println("an admin's token is in " + file));
      tell(options, server);
      String host = listen.getHostAddress();
      System.out.println(
          "gpupool server "
              + server.name()
              + " ready: control "
              + host
              + ":"
              + server.controlPort()
              + ", call streams "
              + host
              + ":"
              + server.dataPort()
              + (rest == null ? "" : ", HTTP " + host + ":" + rest.port())
              + (health == null ? "" : ", health " + host + ":" + health.port()));
      System.out.flush();
      drainNotice.ifPresent(file -> DrainNotice.await(file, () -> server.drain(() -> {})));
      Signals.awaitTermination();
      CountDownLatch enough = new CountDownLatch(1);
      Signals.handle("TERM", enough::countDown);
      Signals.handle("INT", enough::countDown);
      server.drain(enough::countDown);
      if (!enough.await(limit.toMillis(), TimeUnit.MILLISECONDS) && limit.isPositive()) {
        System.err.println("gpupool: leases are left after " + drainLimit + "; they end now");
      }
    }
    return 0;
  }

  private static boolean isEtcd(String place) {
    return place.startsWith(EtcdOptions.SCHEME);
  }

  private void tell(ServerOptions options, PoolServer server) {
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

  /** Nothing where no HTTP port is wanted; a try statement takes that. */
  private @Nullable RestServer openHttp(PoolServer server, ProcessMeters meters)
      throws IOException {
    return noHttp
        ? null
        : RestServer.start(
            server.reader(),
            server.calls(),
            new InetSocketAddress(listen, httpPort),
            server.tls(),
            meters);
  }

  private static PoolReporter report(PoolServer server, ProcessMeters meters, OtlpCollector to) {
    return PoolReporter.start(server.reader(), meters.sent().orElseThrow(), to.step());
  }

  /** Nothing where no health port is wanted. */
  private @Nullable HealthServer openHealth(PoolServer server) throws IOException {
    return healthPort.isEmpty()
        ? null
        : HealthServer.start(server.reader(), new InetSocketAddress(listen, healthPort.get()));
  }
}
