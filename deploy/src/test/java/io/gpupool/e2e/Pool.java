// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.gpupool.control.v1.GpuInfo;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.ListRequest;
import io.gpupool.control.v1.PoolGrpc;
import io.gpupool.control.v1.SessionInfo;
import io.grpc.ManagedChannel;
import io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.NettyChannelBuilder;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLException;

/**
 * A {@code gpupool server} on ports of its own, which takes call streams by TCP alone. Unless it is
 * started as installed, it keeps no spare workers and does without the JVM's second compiler,
 * neither of which pays for a few short programs.
 */
final class Pool implements AutoCloseable {
  /**
   * How long after a program's end nothing is left of it. It takes less than 2 s where the
   * processors are not all taken: try with that now and then.
   */
  static final Duration CLEAN =
      Duration.ofSeconds(Integer.getInteger("gpupool.processes.clean", 10));

  /** The time within which leases are gone whose programs have ended. */
  static final Duration IDLE = Duration.ofSeconds(20);

  private static final Duration WORKING = Duration.ofMinutes(2);

  /** The variable that says where servers take call streams of this machine. */
  static final String LOCAL_SOCKET = "GPUPOOL_LOCAL_SOCKET";

  /** The property with its value, for whole runs over call streams of this machine. */
  private static final String LOCAL_STREAMS = "gpupool.local.socket";

  private static final Duration START = Duration.ofSeconds(60);
  private static final Pattern PORTS =
      Pattern.compile(
          ".*control [0-9.]+:(\\d+).*call streams [0-9.]+:(\\d+).*HTTP [0-9.]+:(\\d+).*");
  private static final String LOOPBACK = "127.0.0.1";

  private final Program server;
  private final String host;
  private final int controlPort;
  private final int dataPort;
  private final int httpPort;
  private final ManagedChannel channel;

  private Pool(Program server, String host, Optional<Path> certificate) {
    this.server = server;
    this.host = host;
    Matcher ports = PORTS.matcher(server.awaitLine(line -> PORTS.matcher(line).matches(), START));
    assertThat(ports.matches()).isTrue();
    this.controlPort = Integer.parseInt(ports.group(1));
    this.dataPort = Integer.parseInt(ports.group(2));
    this.httpPort = Integer.parseInt(ports.group(3));
    this.channel = channel(certificate);
  }

  private ManagedChannel channel(Optional<Path> certificate) {
    NettyChannelBuilder builder = NettyChannelBuilder.forAddress(host, controlPort);
    if (certificate.isEmpty()) {
      return builder.usePlaintext().build();
    }
    try {
      return builder
          .sslContext(GrpcSslContexts.forClient().trustManager(certificate.get().toFile()).build())
          .build();
    } catch (SSLException e) {
      throw new AssertionError(e);
    }
  }

  /** Starts a server as users do, with its defaults, and waits until its ports are open. */
  static Pool startAsInstalled(String gpus, String... options) {
    List<String> command = command(LOOPBACK, 0, gpus, options);
    return start(overTcp(command), LOOPBACK, certificate(command));
  }

  /** Starts a server for a few short programs. */
  static Pool start(String gpus, String... options) {
    return startAt(0, gpus, options);
  }

  /** Starts one with this control port, as after a restart. */
  static Pool startAt(int port, String gpus, String... options) {
    return startFrugal(Map.of(), LOOPBACK, port, gpus, options);
  }

  /** Starts one with these variables in its environment. */
  static Pool startIn(Map<String, String> environment, String gpus, String... options) {
    return startFrugal(environment, LOOPBACK, 0, gpus, options);
  }

  /** Starts one that listens on an address of a network, and lets in whoever can connect. */
  static Pool startOn(String host, String gpus) {
    return startFrugal(Map.of(), host, 0, gpus, "--auth", "none");
  }

  /** Returns the command of {@link #startAt}, for a server that may not open its ports. */
  static Program.Builder command(int port, String gpus, String... options) {
    return frugal(frugalCommand(LOOPBACK, port, gpus, options));
  }

  private static Pool startFrugal(
      Map<String, String> environment, String host, int port, String gpus, String... options) {
    List<String> command = frugalCommand(host, port, gpus, options);
    Program.Builder builder = frugal(command);
    environment.forEach(builder::with);
    return start(builder, host, certificate(command));
  }

  /** The certificate that a server shows; empty: it speaks no TLS. */
  private static Optional<Path> certificate(List<String> command) {
    int option = command.indexOf("--tls-cert");
    return option < 0 ? Optional.empty() : Optional.of(Path.of(command.get(option + 1)));
  }

  private static List<String> frugalCommand(String host, int port, String gpus, String... options) {
    List<String> command = command(host, port, gpus, options);
    command.addAll(List.of("--spares", "0"));
    return command;
  }

  private static Program.Builder frugal(List<String> command) {
    return overTcp(command).with("GPUPOOL_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1");
  }

  /** Call streams are there for a test to see and to break, unless its server is told otherwise. */
  private static Program.Builder overTcp(List<String> command) {
    return Program.of(command).with(LOCAL_SOCKET, System.getProperty(LOCAL_STREAMS, "none"));
  }

  private static List<String> command(String host, int port, String gpus, String... options) {
    List<String> command = new ArrayList<>(List.of(Distribution.gpupool().toString(), "server"));
    command.addAll(List.of("--gpus", gpus, "--listen", host));
    command.addAll(List.of("--control-port", Integer.toString(port), "--http-port", "0"));
    command.addAll(Arrays.asList(options));
    if (!command.contains("--data-port")) {
      command.addAll(List.of("--data-port", "0"));
    }
    if (!command.contains("--run-dir")) {
      command.addAll(List.of("--drain-limit", "0s"));
    }
    return command;
  }

  private static Pool start(Program.Builder builder, String host, Optional<Path> certificate) {
    Program server = builder.start();
    try {
      return new Pool(server, host, certificate);
    } catch (AssertionError e) {
      String report = server.reportThreads();
      server.close();
      throw new AssertionError(report, e);
    }
  }

  int controlPort() {
    return controlPort;
  }

  int dataPort() {
    return dataPort;
  }

  int httpPort() {
    return httpPort;
  }

  String address() {
    return host + ":" + controlPort;
  }

  Program server() {
    return server;
  }

  /** {@code gpupool run} on this pool, with its own agent. */
  Program.Builder run(String[] share, Object... command) {
    List<String> line = new ArrayList<>(List.of(Distribution.gpupool().toString(), "run"));
    line.addAll(List.of("--pool", address()));
    line.addAll(Arrays.asList(share));
    line.add("--");
    Arrays.stream(command).map(Object::toString).forEach(line::add);
    return Program.of(line);
  }

  /** Another command of {@code gpupool} on this pool. */
  Program.Ended gpupool(String... arguments) {
    return gpupool(Program.PATIENCE, arguments);
  }

  /** The same for a command that may take longer. */
  Program.Ended gpupool(Duration patience, String... arguments) {
    List<String> line = new ArrayList<>(List.of(Distribution.gpupool().toString()));
    line.addAll(Arrays.asList(arguments));
    line.addAll(List.of("--pool", address()));
    return Program.of(line).run(patience);
  }

  List<LeaseInfo> leases() {
    return stub().listLeases(ListRequest.getDefaultInstance()).getLeasesList();
  }

  List<SessionInfo> sessions() {
    return stub().listSessions(ListRequest.getDefaultInstance()).getSessionsList();
  }

  /** The session of a program, by its process id. */
  SessionInfo sessionOf(long pid) {
    return sessions().stream()
        .filter(session -> session.getClient().getPid() == pid)
        .findFirst()
        .orElseThrow(() -> new AssertionError("no session of process " + pid + ": " + sessions()));
  }

  List<GpuInfo> gpus() {
    return stub().listGpus(ListRequest.getDefaultInstance()).getGpusList();
  }

  /** Memory of all GPUs that can still be granted. */
  long freeBytes() {
    return gpus().stream().mapToLong(GpuInfo::getFreeMemoryBytes).sum();
  }

  /** Waits, no longer than {@link #CLEAN}, until exactly this much can be granted. */
  void awaitFreeBytes(long bytes) {
    await()
        .atMost(CLEAN)
        .pollInterval(Duration.ofMillis(20))
        .pollInSameThread()
        .untilAsserted(() -> assertThat(freeBytes()).as("free memory").isEqualTo(bytes));
  }

  /** Waits until nothing is leased any more, as between tests. */
  void awaitIdle() {
    awaitIdle(IDLE);
  }

  void awaitIdle(Duration atMost) {
    await()
        .atMost(atMost)
        .pollInterval(Duration.ofMillis(20))
        .pollInSameThread()
        .untilAsserted(() -> assertThat(leases()).isEmpty());
  }

  /** Waits until there are so many sessions, all attached and with more calls than that. */
  void awaitWorking(int count, long calls) {
    await().atMost(WORKING).untilAsserted(() -> requireWorking(count, calls));
  }

  /**
   * Waits until the pool's only lease has a GPU, and its only session is attached and has made more
   * calls there than that.
   */
  void awaitWorkingAt(String server, int gpu, long calls) {
    await()
        .atMost(WORKING)
        .untilAsserted(() -> {
          assertThat(leases())
              .singleElement()
              .satisfies(lease -> {
                assertThat(lease.getGrants(0).getGrant().getServer()).isEqualTo(server);
                assertThat(lease.getGrants(0).getGrant().getGpu()).isEqualTo(gpu);
              });
          requireWorking(1, calls);
        });
  }

  /** Checks that there are so many sessions, all attached and with more calls than that. */
  void requireWorking(int count, long calls) {
    assertThat(sessions())
        .hasSize(count)
        .allSatisfy(session -> {
          assertThat(session.getState()).isEqualTo(SessionInfo.State.STATE_ATTACHED);
          assertThat(session.getCalls()).isGreaterThan(calls);
        });
  }

  PoolGrpc.PoolBlockingStub stub() {
    return PoolGrpc.newBlockingStub(channel);
  }

  @Override
  public void close() {
    channel.shutdownNow();
    server.signal("TERM");
    try {
      server.awaitEnd(Duration.ofSeconds(20));
    } finally {
      server.close();
    }
  }
}
