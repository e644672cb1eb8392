// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.SessionInfo;
import io.gpupool.server.FreePort;
import io.gpupool.server.state.etcd.Etcd;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * Two servers with two software GPUs each over an etcd of three members, proxies in front of the
 * servers, and an agent; each of them can die.
 */
final class MoveKillSite implements AutoCloseable {
  static final List<String> NAMES = List.of("m0", "m1");
  private static final String PREFIX = "kills";

  /** Memory of a GPU: of a size that no other test has, so that its workers can be told apart. */
  private final int mebibytes = ThreadLocalRandom.current().nextInt(513, 1000);

  private final String gpus = "soft:2,mem=" + mebibytes + "Mi";

  /** Longer than a server takes to start on a busy machine. */
  private static final String WINDOW = "120s";

  /** Less than the window, as nothing is to be cleared only by its end. */
  private static final Duration SETTLING = Duration.ofSeconds(60);

  private static final Duration STARTING = Duration.ofSeconds(90);

  /** As long as etcd takes to give a server up, and a little more. */
  private static final long GONE_MILLIS = 8000;

  private final Etcd etcd;
  private final MoveBooks books;
  private final Map<String, RestartedServer> servers = new TreeMap<>();
  private final Map<String, CutProxy> streams = new TreeMap<>();
  private final List<CutProxy> controls = new ArrayList<>();
  private CutAgent agent;

  MoveKillSite(Path folder) throws Exception {
    etcd = Etcd.start(folder, 3);
    books = new MoveBooks(etcd, PREFIX);
    try {
      for (String name : NAMES) {
        int port = FreePort.find();
        servers.put(
            name,
            RestartedServer.start(
                folder,
                name,
                gpus,
                etcd.url(PREFIX),
                "--host",
                CutProxy.HOST,
                "--data-port",
                Integer.toString(port)));
        streams.put(name, CutProxy.start(port));
        controls.add(CutProxy.start(pool(name).controlPort()));
      }
      agent = CutAgent.start(address(NAMES.getFirst()), folder, List.of());
      awaitServers();
    } catch (Exception | Error e) {
      close();
      throw e;
    }
  }

  private String address(String name) {
    return CutProxy.HOST + ":" + pool(name).controlPort();
  }

  Pool pool(String name) {
    return servers.get(name).pool();
  }

  MoveBooks books() {
    return books;
  }

  /** Waits until both servers know each other. */
  void awaitServers() {
    await()
        .atMost(STARTING)
        .ignoreExceptions()
        .until(() ->
            NAMES.stream()
                .allMatch(name ->
                    books.servers().equals(Set.copyOf(NAMES)) && pool(name).gpus().size() == 4));
  }

  /** Starts a program, and waits until all its processes have made calls. */
  MovedProgram start(int processes, boolean byAgent) {
    Object[] command = {CPrograms.fixture("accumulated"), Distribution.KERNELS, processes};
    Program.Builder builder;
    if (byAgent) {
      builder =
          Program.of(command)
              .with("LD_LIBRARY_PATH", Distribution.SHIM)
              .with("GPUPOOL_MEMORY", "256Mi")
              .with("GPUPOOL_RESUME_WINDOW", WINDOW);
    } else {
      builder =
          pool(NAMES.getFirst())
              .run(new String[] {"-m", "256Mi", "--resume-window", WINDOW}, command);
    }
    MovedProgram program =
        new MovedProgram(builder.with("GPUPOOL_AGENT", agent.socket()).start(), processes, byAgent);
    try {
      await()
          .atMost(STARTING)
          .ignoreExceptions()
          .until(() ->
              program.isServedBy(sessions()) && calls().values().stream().allMatch(n -> n > 0));
      return program;
    } catch (RuntimeException | Error e) {
      program.close();
      throw new AssertionError(program.program().report(), e);
    }
  }

  /** The leases: at most one. */
  List<LeaseInfo> leases() {
    return pool(NAMES.getFirst()).leases();
  }

  /** Returns the sessions, each as its own server has it. */
  List<SessionInfo> sessions() {
    return NAMES.stream()
        .flatMap(name ->
            pool(name).sessions().stream().filter(session -> session.getServer().equals(name)))
        .toList();
  }

  private Map<String, Long> calls() {
    return sessions().stream().collect(Collectors.toMap(SessionInfo::getId, SessionInfo::getCalls));
  }

  /** Returns the ids of all worker processes of such servers. */
  Set<Long> workers() {
    return Set.copyOf(Processes.ofCommand(Distribution.HOME.toString(), "WorkerMain", gpus));
  }

  /**
   * Waits until moves are over, and GPUs, servers and workers have exactly what the leases have.
   */
  void awaitSettled() {
    awaitServers();
    await()
        .atMost(SETTLING)
        .ignoreException(io.grpc.StatusRuntimeException.class)
        .untilAsserted(() -> {
          books.requireSettled();
          assertThat(workers())
              .as("worker processes")
              .isEqualTo(
                  sessions().stream()
                      .map(session -> (long) session.getWorkerPid())
                      .collect(Collectors.toSet()));
        });
  }

  /** Waits until all sessions of a program are attached and make calls; false: it has ended. */
  boolean awaitGoesOn(MovedProgram program) {
    Map<String, Long> before = calls();
    await()
        .atMost(STARTING)
        .until(() ->
            !program.program().isAlive()
                || sessions().size() < program.processes()
                || program.isServedBy(sessions())
                    && calls().entrySet().stream()
                        .allMatch(now -> now.getValue() > before.getOrDefault(now.getKey(), 0L)));
    return program.program().isAlive() && sessions().size() == program.processes();
  }

  /**
   * Waits until nothing is left of any lease, in records, processes and files.
   *
   * @param endedUnheld whether a program may have ended while no agent held its lease, which then
   *     ends with its window
   */
  void awaitNothingLeft(boolean endedUnheld) {
    Duration window = endedUnheld ? Duration.parse("PT" + WINDOW) : Duration.ZERO;
    servers.values().forEach(server -> server.awaitNothingLeft(4L * mebibytes << 20, window));
    await()
        .atMost(SETTLING)
        .untilAsserted(() -> {
          books.requireNothingLeft();
          assertThat(workers()).isEmpty();
        });
  }

  /**
   * Kills a server and starts it again.
   *
   * @param earlyMillis after which it is killed once more while it starts; 0: it is not
   */
  void restart(String name, int earlyMillis) throws InterruptedException {
    RestartedServer server = servers.get(name);
    server.kill();
    if (earlyMillis > 0) {
      server.startAndKillAfter(Duration.ofMillis(earlyMillis));
    }
    server.start();
  }

  /** Kills a server, and starts it again when etcd has given it up. */
  void restartLater(String name) throws InterruptedException {
    RestartedServer server = servers.get(name);
    server.kill();
    Thread.sleep(GONE_MILLIS);
    server.start();
  }

  /** Stops a server's process, and lets it go on. */
  void stop(String name, long millis) throws InterruptedException {
    Program server = pool(name).server();
    server.signal("STOP");
    try {
      Thread.sleep(millis);
    } finally {
      server.signal("CONT");
    }
  }

  /** Returns how many bytes have come to a server's call-stream port so far. */
  long bytesTo(String name) {
    return streams.get(name).bytesToServer();
  }

  /** Returns the names of the records of sessions in a server's run directory. */
  List<String> sessionRecords(String name) {
    return servers.get(name).sessionRecords();
  }

  /** Resets the connections to a server's call-stream port. */
  void reset(String name) {
    streams.get(name).reset();
  }

  void killLeader() throws Exception {
    int leader = etcd.leader();
    etcd.kill(leader);
    TimeUnit.SECONDS.sleep(1);
    etcd.launch(leader);
  }

  void killAgent() {
    agent.restart();
  }

  /** Returns what the servers have logged. */
  String logs() {
    StringBuilder logs = new StringBuilder();
    servers.forEach((name, server) ->
        logs.append("\n--- server ").append(name).append('\n').append(server.log()));
    return logs.toString();
  }

  @Override
  public void close() {
    if (agent != null) {
      agent.close();
    }
    streams.values().forEach(CutProxy::close);
    controls.forEach(CutProxy::close);
    servers.values().forEach(RestartedServer::close);
    books.close();
    etcd.close();
  }
}
