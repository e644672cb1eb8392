// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** The sandbox around workers: what code in a worker would try, and how real workers are. */
class SandboxIT {
  private static final int EPERM = 1;
  private static final int EACCES = 13;

  /** SIGSYS, as the statuses of processes tell it. */
  private static final int KILLED = 128 + 31;

  private static final int NOBODY = 65534;
  private static final String[] HALF = {"-p", "0.5"};

  @TempDir private Path folder;

  static Stream<Arguments> intruders() throws IOException {
    Arguments own = Arguments.argumentSet("of this user's server", Intruder.ofThisUser());
    return isRoot()
        ? Stream.of(
            own,
            Arguments.argumentSet("of an ordinary user's server", Intruder.ofOrdinaryUser(NOBODY)))
        : Stream.of(own);
  }

  private static boolean isRoot() throws IOException {
    return Files.getAttribute(Path.of("/proc/self"), "unix:uid").equals(0);
  }

  private static String own() {
    return Long.toString(ProcessHandle.current().pid());
  }

  /** A file that its mode lets everybody read and write. */
  private Path open(String name) throws IOException {
    Path file = Files.writeString(folder.resolve(name), "secret");
    Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxrwxrwx"));
    return Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-rw-rw-"));
  }

  @ParameterizedTest
  @MethodSource("intruders")
  void files_thatAreNotTheWorkers_cannotBeOpened(Intruder intruder) throws IOException {
    String token = open("admin.token").toString();

    assertThat(intruder.triesWithoutFilter("read", token)).isEqualTo(EACCES);
    assertThat(intruder.triesWithoutFilter("write", token)).isEqualTo(EACCES);
    assertThat(intruder.triesWithoutFilter("remove", token)).isEqualTo(EACCES);
    assertThat(intruder.triesWithoutFilter("list", folder.toString())).isEqualTo(EACCES);
    assertThat(intruder.triesWithoutFilter("write", folder.resolve("new").toString()))
        .isEqualTo(EACCES);
    assertThat(intruder.triesWithoutFilter("write", "/dev/shm/new")).isEqualTo(EACCES);
    assertThat(intruder.triesWithoutFilter("read", "/etc/shadow")).isEqualTo(EACCES);
    assertThat(intruder.triesWithoutFilter("read", "/etc/passwd")).isEqualTo(EACCES);
    assertThat(intruder.tries("chmod", token)).isEqualTo(EPERM);
    assertThat(Path.of(token)).hasContent("secret");
    // What a worker runs it may read, and not change.
    String jar = Distribution.HOME.resolve("lib/gpupool.jar").toString();
    assertThat(intruder.tries("read", jar)).isZero();
    assertThat(intruder.tries("write", jar)).isEqualTo(EACCES);
  }

  @ParameterizedTest
  @MethodSource("intruders")
  void processes_ofTheServerAndOthers_cannotBeReached(Intruder intruder) {
    try (Program neighbour = intruder.neighbour()) {
      for (String other : List.of(own(), Long.toString(neighbour.pid()))) {
        for (String file : List.of("environ", "mem", "maps", "cmdline", "fd")) {
          assertThat(intruder.triesWithoutFilter("read", "/proc/" + other + "/" + file))
              .as(file)
              .isEqualTo(EACCES);
        }
        assertThat(intruder.triesWithoutFilter("kill", other)).isEqualTo(EPERM);
        assertThat(intruder.triesWithoutFilter("trace", other)).isEqualTo(EPERM);
        assertThat(intruder.triesWithoutFilter("memory", other)).isEqualTo(EPERM);
        assertThat(intruder.tries("kill", other)).isEqualTo(EPERM);
        assertThat(intruder.tries("own", other)).isEqualTo(EPERM);
        assertThat(intruder.tries("trace", other)).isEqualTo(KILLED);
        assertThat(intruder.tries("memory", other)).isEqualTo(KILLED);
      }
      assertThat(neighbour.isAlive()).isTrue();
    }
    assertThat(intruder.triesWithoutFilter("list", "/proc")).isEqualTo(EACCES);
    assertThat(intruder.tries("kill", "-1")).isEqualTo(EPERM);
    assertThat(intruder.tries("lease")).isEqualTo(EPERM);
  }

  @ParameterizedTest
  @MethodSource("intruders")
  void network_ofTheServer_isNotThere(Intruder intruder) throws IOException {
    try (ServerSocket port = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      String number = Integer.toString(port.getLocalPort());

      assertThat(intruder.triesWithoutFilter("connect", number)).isNotZero();
      assertThat(intruder.tries("connect", number)).isEqualTo(EPERM);
    }
    assertThat(intruder.tries("abstract", "gpupool-any")).isEqualTo(EPERM);
    assertThat(intruder.tries("udp")).isEqualTo(EPERM);
    assertThat(intruder.tries("netlink")).isEqualTo(EPERM);
  }

  @ParameterizedTest
  @MethodSource("intruders")
  void programsAndPrivileges_cannotBeHad(Intruder intruder) {
    assertThat(intruder.triesWithoutFilter("shell")).isEqualTo(EACCES);
    assertThat(intruder.tries("shell")).isEqualTo(KILLED);
    assertThat(intruder.tries("fork")).isEqualTo(EPERM);
    assertThat(intruder.triesWithoutFilter("user")).isNotZero();
    assertThat(intruder.tries("user")).isEqualTo(KILLED);
    assertThat(intruder.tries("namespace")).isEqualTo(KILLED);
    assertThat(intruder.triesWithoutFilter("mount")).isEqualTo(EPERM);
    assertThat(intruder.tries("mount")).isEqualTo(KILLED);
  }

  @Test
  void users_ofTwoWorkers_areTwo() throws IOException {
    assumeThat(isRoot()).as("only a server that is root gives its workers users").isTrue();

    long one = Intruder.ofThisUser().user().orElseThrow();

    assertThat(one).isGreaterThan(1_000_000_000L);
    try (Pool pool = Pool.start("soft:1,mem=256Mi");
        Tenant first = Tenant.start(pool, HALF);
        Tenant second = Tenant.start(pool, HALF)) {
      String firstUser = fact(pool, first, "Uid:");
      assertThat(firstUser).isNotEqualTo(fact(pool, second, "Uid:")).doesNotContain("\t0");
    }
  }

  @Test
  void worker_ofARealSession_isConfinedAndKnowsNothingOfTheServersEnvironment() throws IOException {
    try (Pool pool = Pool.startIn(Map.of("SECRET_OF_THE_SERVER", "4711"), "soft:1,mem=256Mi");
        Tenant tenant = Tenant.start(pool, HALF)) {
      assertThat(pool.server().output()).contains("workers are confined: ");
      tenant.assertWorks();

      assertThat(fact(pool, tenant, "NoNewPrivs:")).isEqualTo("1");
      assertThat(fact(pool, tenant, "Seccomp:")).isEqualTo("2");
      for (String set : List.of("CapInh:", "CapPrm:", "CapEff:", "CapAmb:")) {
        assertThat(fact(pool, tenant, set)).as(set).isEqualTo("0000000000000000");
      }
      Path process = process(pool, tenant);
      assertThat(Files.readString(process.resolve("environ")))
          .doesNotContain("4711", "HOME=", "GPUPOOL_SANDBOX=");
      assertThat(Files.readString(process.resolve("limits")))
          .containsPattern("Max core file size +1 +1 ");
      int score = Integer.parseInt(Files.readString(process.resolve("oom_score_adj")).strip());
      int servers =
          Integer.parseInt(
              Files.readString(Path.of("/proc/" + pool.server().pid() + "/oom_score_adj")).strip());
      assertThat(score).isGreaterThan(servers);
    }
  }

  @Test
  void worker_thatCrashes_saysWhereInTheLogAndLeavesNoFile() throws IOException {
    try (Pool pool = Pool.start("soft:1,mem=256Mi");
        Tenant tenant = Tenant.start(pool, HALF)) {
      String worker = process(pool, tenant).getFileName().toString();
      Signals.send("SEGV", worker);

      assertThat(pool.server().awaitErrorLine(line -> line.contains("SIGSEGV")))
          .contains("pid=" + worker);
      await()
          .atMost(Duration.ofSeconds(60))
          .until(() -> ProcessHandle.of(Long.parseLong(worker)).isEmpty());
      for (Path place : List.of(Distribution.WORK, Path.of("/tmp"), Path.of("."))) {
        assertThat(place.resolve("hs_err_pid" + worker + ".log")).doesNotExist();
        assertThat(place.resolve("core." + worker)).doesNotExist();
      }
    }
  }

  @Test
  void kernels_ofATenant_areKeptForItsNextSession() throws IOException {
    Path kernels = folder.resolve("kernels");
    try (Pool pool =
        Pool.startIn(Map.of("GPUPOOL_KERNEL_CACHE", kernels.toString()), "soft:1,mem=256Mi")) {
      try (Tenant tenant = Tenant.start(pool, HALF)) {
        tenant.assertWorks();
        await()
            .atMost(Duration.ofSeconds(20))
            .untilAsserted(() -> assertThat(filesBelow(kernels)).isNotEmpty());
      }
    }
    // Each tenant has a folder of its own, and its workers no way there but through the server.
    assertThat(filesBelow(kernels))
        .allMatch(file -> file.getNameCount() == kernels.getNameCount() + 2);
  }

  @Test
  void sandboxOff_isSaid() {
    try (Pool pool = Pool.start("soft:1,mem=256Mi", "--sandbox", "off")) {
      assertThat(pool.server().output()).contains("workers are not confined (--sandbox off)");
    }
  }

  @Test
  void workerUids_thatAreTooFew_areRefusedWithTheReason() {
    Program.Ended ended =
        Program.of(
                Distribution.gpupool(), "server", "--gpus", "soft:1", "--worker-uids", "1000-1001")
            .run();

    assertThat(ended.status()).isNotZero();
    assertThat(ended.errors()).contains("--worker-uids 1000-1001", "at least 2048 user ids");
  }

  private static List<Path> filesBelow(Path folder) throws IOException {
    if (!Files.exists(folder)) {
      return List.of();
    }
    try (Stream<Path> files = Files.walk(folder)) {
      return files.filter(Files::isRegularFile).toList();
    }
  }

  private static Path process(Pool pool, Tenant tenant) {
    long worker = pool.sessionOf(tenant.ask("pid").getFirst()).getWorkerPid();
    return Path.of("/proc/" + worker);
  }

  private static String fact(Pool pool, Tenant tenant, String name) throws IOException {
    return Arrays.stream(Files.readString(process(pool, tenant).resolve("status")).split("\n"))
        .filter(line -> line.startsWith(name))
        .map(line -> line.substring(name.length()).strip())
        .findFirst()
        .orElseThrow();
  }
}
