// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.gpupool.control.v1.ListRequest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Ranks of a communicator that lose one of them: they are told, and give up. Two of three ranks are
 * on the first server of a pool.
 */
class CollectiveLossIT {
  private static final int COUNT = 3;

  /** A connection that breaks is noticed at once, and so is the end of a lease. */
  private static final Duration SOON = Duration.ofSeconds(5);

  /** A silent connection counts as broken after 5 s, and a rank looks once a second. */
  private static final Duration SILENT = Duration.ofSeconds(10);

  /** What a server wrote goes 6 s after it was last heard of ({@code --etcd-ttl}). */
  private static final Duration RECORDS_GONE = Duration.ofSeconds(10);

  private static final Duration WAITING = Duration.ofSeconds(3);
  private static final String REMOTE_ERROR = "error 6 ";
  private static final int GAVE_UP = 3;
  private static final int SOME_STEPS = 5;
  private static final long SERVER_BYTES = 1L << 30;
  private static final Pattern TOKEN = Pattern.compile("gpupool_[A-Za-z0-9_-]+");

  private static final Pattern PID = Pattern.compile("pid (\\d+)");
  private static final ListRequest ALL = ListRequest.getDefaultInstance();

  @TempDir Path folder;

  @ParameterizedTest
  @ValueSource(ints = {0, 2})
  void program_isKilled_othersFailSoon(int killed) throws Exception {
    try (TwoServers pool = TwoServers.start(state());
        Ranks ranks = loop()) {
      ranks.startOn(pool);
      awaitSteps(ranks.all());
      Signals.send("KILL", Long.toString(pid(ranks.get(killed))));
      requireGivesUp(SOON, others(ranks, killed));
      pool.first().awaitIdle();
    }
  }

  @Test
  void server_isKilledWithItsWorkers_ranksOfTheOtherFailSoon() throws Exception {
    requireServersLossIsSeen(true, SOON);
  }

  /** Its workers go on until then, for it may come back. */
  @Test
  void server_isKilledAlone_ranksOfTheOtherFailOnceItsRecordsAreGone() throws Exception {
    requireServersLossIsSeen(false, RECORDS_GONE);
  }

  private void requireServersLossIsSeen(boolean workersToo, Duration limit) throws Exception {
    try (TwoServers pool = TwoServers.start(state());
        Ranks ranks = loop()) {
      ranks.startOn(pool);
      awaitSteps(ranks.all());
      Program server = pool.second().server();
      List<ProcessHandle> workers = List.of();
      if (workersToo) {
        workers = ProcessHandle.of(server.pid()).orElseThrow().descendants().toList();
        assertThat(workers).isNotEmpty();
      }
      server.kill();
      workers.forEach(worker -> Signals.send("KILL", Long.toString(worker.pid())));
      requireGivesUp(limit, others(ranks, 1));
      ranks.get(1).close();
      pool.first().awaitIdle();
    }
  }

  @Test
  void rank_givesUp_othersFailAtTheirNextCall() throws Exception {
    try (TwoServers pool = TwoServers.start(state());
        Ranks ranks = loop();
        Ranks quitting = loop("--abort-at", Integer.toString(SOME_STEPS))) {
      ranks.start(pool.first(), "--select", "server=m0");
      ranks.start(pool.first(), "--select", "server=m1");
      try (Program quits = quitting.startAs(2, pool.first(), "--select", "server=m0")) {
        quits.awaitLine("aborted"::equals);
        requireGivesUp(SOON, ranks.all());
        quits.endInput();
        assertThat(quits.awaitEnd().status()).as(quits.report()).isZero();
      }
      pool.first().awaitIdle();
    }
  }

  @Test
  void rank_neverComes_othersWaitIdly() throws Exception {
    try (TwoServers pool = TwoServers.start(state());
        Ranks ranks = loop()) {
      ranks.start(pool.first(), "--select", "server=m0");
      ranks.start(pool.first(), "--select", "server=m1");
      List<Long> pids = ranks.all().stream().map(CollectiveLossIT::pid).toList();
      pool.first().awaitWorking(2, 0);
      Duration before = used(pids);
      await()
          .during(WAITING)
          .atMost(WAITING.multipliedBy(2))
          .until(() -> ranks.all().stream().allMatch(Program::isAlive));
      assertThat(used(pids).minus(before)).isLessThan(WAITING.dividedBy(3));
      assertThat(ranks.all()).noneMatch(rank -> rank.output().contains("joined"));
      pids.forEach(pid -> Signals.send("KILL", pid.toString()));
      pool.first().awaitIdle();
    }
  }

  /** Programs reach their servers by local sockets, so that the link is between servers alone. */
  @Test
  void link_isSilent_ranksOfBothServersFailWithinItsLimit() throws Exception {
    List<CutProxy> proxies = new ArrayList<>();
    List<Integer> streams = new ArrayList<>();
    TwoServers.Starter starter =
        options -> {
          Pool server = behindProxies(options);
          proxies.add(CutProxy.start(server.controlPort()));
          proxies.add(CutProxy.start(server.dataPort()));
          streams.add(server.dataPort());
          return server;
        };
    try (TwoServers pool = TwoServers.start(state(), 2 * SERVER_BYTES, starter)) {
      Optional<Firewall> wall = Firewall.make(streams);
      assumeTrue(wall.isPresent(), "this process may make no firewall (iptables, as root)");
      try (Firewall firewall = wall.get();
          Ranks ranks = loop()) {
        ranks.startOn(pool);
        awaitSteps(ranks.all());
        firewall.close(true, true);
        requireGivesUp(SILENT, ranks.all());
        firewall.open(true, true);
      }
      pool.first().awaitIdle();
    } finally {
      proxies.forEach(CutProxy::close);
    }
  }

  @Test
  void stranger_withTheIdentifier_neitherJoinsNorDisturbs() throws Exception {
    String[] options = {"--auth", "tokens", "--state", state().toString()};
    try (Pool pool = Pool.start("soft:2,mem=1Gi", options)) {
      String admin = Files.readString(folder.resolve("state/admin.token")).strip();
      String ours = token(pool, admin, "vision");
      String theirs = token(pool, admin, "speech");
      Object[] command = {CPrograms.ncclExample("conformance"), "--cases", 10};
      try (Ranks ranks = new Ranks(folder, 2, command).with("GPUPOOL_TOKEN", ours);
          Ranks strangers = new Ranks(folder, 2, command).with("GPUPOOL_TOKEN", theirs);
          Clients clients = new Clients(pool.controlPort(), admin)) {
        ranks.start(pool);
        await().atMost(Program.PATIENCE).until(() -> Files.exists(folder.resolve("id")));
        try (Program stranger = strangers.startAs(1, pool)) {
          awaitSessions(clients, 2);
          await()
              .during(WAITING)
              .atMost(WAITING.multipliedBy(2))
              .until(() -> stranger.isAlive() && ranks.get(0).isAlive());
          ranks.start(pool);
          ranks.awaitAll("conformance: OK\n");
          assertThat(stranger.isAlive()).as(stranger.report()).isTrue();
          assertThat(stranger.output()).isEmpty();
        }
        await().atMost(Pool.IDLE).until(() -> clients.pool().listLeases(ALL).getLeasesCount() == 0);
      }
    }
  }

  private static Pool behindProxies(String... options) {
    String[] all = options.clone();
    all[Arrays.asList(all).indexOf("--host") + 1] = CutProxy.HOST;
    return Pool.startIn(Map.of(Pool.LOCAL_SOCKET, "auto"), "soft:1,mem=1Gi", all);
  }

  private Path state() throws IOException {
    return Files.createDirectory(folder.resolve("state"));
  }

  private Ranks loop(String... options) {
    List<Object> command = new ArrayList<>(List.of(CPrograms.ncclFixture("collective_loop")));
    command.addAll(Arrays.asList(options));
    return new Ranks(folder, COUNT, command.toArray());
  }

  private static List<Program> others(Ranks ranks, int lost) {
    List<Program> others = new ArrayList<>(ranks.all());
    others.remove(lost);
    return others;
  }

  private static void awaitSteps(List<Program> ranks) {
    String step = "step " + SOME_STEPS;
    ranks.forEach(rank -> rank.awaitLine(step::equals));
  }

  /** Each is told of the loss within the time, says so, and ends. */
  private static void requireGivesUp(Duration limit, List<Program> ranks) {
    long endNanos = System.nanoTime() + limit.toNanos();
    for (Program rank : ranks) {
      Duration left = Duration.ofNanos(Math.max(0, endNanos - System.nanoTime()));
      String error = rank.awaitLine(line -> line.startsWith("error "), left);
      assertThat(error).as(rank.report()).startsWith(REMOTE_ERROR);
    }
    for (Program rank : ranks) {
      rank.awaitLine("aborted"::equals);
      assertThat(rank.awaitEnd().status()).as(rank.report()).isEqualTo(GAVE_UP);
    }
  }

  /** The process id of a rank itself, which prints it first. */
  private static long pid(Program rank) {
    Matcher line = PID.matcher(rank.output());
    if (!line.find()) {
      line = PID.matcher(rank.awaitLine(text -> PID.matcher(text).matches()));
      assertThat(line.matches()).isTrue();
    }
    return Long.parseLong(line.group(1));
  }

  /** The time that processes have had of the machine's processors. */
  private static Duration used(List<Long> pids) {
    return pids.stream()
        .map(pid -> ProcessHandle.of(pid).flatMap(process -> process.info().totalCpuDuration()))
        .map(Optional::orElseThrow)
        .reduce(Duration.ZERO, Duration::plus);
  }

  private static void awaitSessions(Clients clients, int count) {
    await()
        .atMost(Program.PATIENCE)
        .until(() -> clients.pool().listSessions(ALL).getSessionsCount() == count);
  }

  private static String token(Pool pool, String admin, String tenant) {
    gpupool(pool, admin, "tenant", "create", tenant);
    Matcher token = TOKEN.matcher(gpupool(pool, admin, "tenant", "token", "create", tenant));
    assertThat(token.find()).isTrue();
    return token.group();
  }

  private static String gpupool(Pool pool, String token, String... arguments) {
    List<String> line = new ArrayList<>(List.of(Distribution.gpupool().toString()));
    line.addAll(Arrays.asList(arguments));
    Program.Ended ended =
        Program.of(line).with("GPUPOOL_POOL", pool.address()).with("GPUPOOL_TOKEN", token).run();
    assertThat(ended.status()).as(ended.errors()).isZero();
    return ended.output();
  }
}
