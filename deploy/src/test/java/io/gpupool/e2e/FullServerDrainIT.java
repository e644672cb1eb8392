// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.gpupool.control.v1.DrainServerRequest;
import io.gpupool.control.v1.DrainedLease;
import io.gpupool.control.v1.GpuInfo;
import io.gpupool.control.v1.LeaseClass;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.ListRequest;
import io.gpupool.control.v1.PoolAdminGrpc;
import io.gpupool.control.v1.ServerInfo;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;

/**
 * A server full of programs of all sizes, classes and priorities that is drained to another one,
 * and then that one, for which there is not enough room. {@code -Dgpupool.drain.programs=N} starts
 * so many.
 */
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class FullServerDrainIT {
  private static final int PROGRAMS = Integer.getInteger("gpupool.drain.programs", 5);
  private static final int AT_A_TIME = 4;
  private static final int GPUS = 4;
  private static final long MIB = 1L << 20;
  private static final long GPU_BYTES = 1024 * MIB;

  /** What is left on one GPU for the leases that are to come back, and on the others nothing. */
  private static final long ROOM_BYTES = 384 * MIB;

  private static final Duration LIMIT = Duration.ofMinutes(10);
  private static final Duration DEADLINE = Duration.ofSeconds(3);

  /** Long enough for a busy machine, and far from never. */
  private static final Duration SLACK = Duration.ofMinutes(1);

  private static final Pattern MOVED =
      Pattern.compile("lease (L[0-9]+) has moved to m[01]/[0-9]+, ");

  /** The order in which leases are to move. */
  private static final Comparator<LeaseInfo> FIRST_TO_MOVE =
      Comparator.comparing((LeaseInfo lease) -> lease.getClass_() != LeaseClass.LEASE_CLASS_LATENCY)
          .thenComparing(lease -> -priority(lease))
          .thenComparing(lease -> -lease.getAgeMillis());

  @TempDir static Path folder;
  private static final List<Program> programs = new ArrayList<>();
  private static TwoServers pool;
  private static Pool first;
  private static Pool second;

  @BeforeAll
  static void start() throws Exception {
    pool =
        TwoServers.start(
            folder,
            2 * GPUS * GPU_BYTES,
            options -> Pool.start("soft:" + GPUS + ",mem=1Gi", options));
    first = pool.first();
    second = pool.second();
    // A few at a time: a program does not wait for ever until a busy machine has its worker.
    for (int i = 0; i < PROGRAMS; i++) {
      programs.add(program(i));
      if (programs.size() % AT_A_TIME == 0) {
        pool.awaitAllAt("m0", programs.size());
      }
    }
    pool.awaitAllAt("m0", PROGRAMS);
  }

  @AfterAll
  static void stop() {
    programs.forEach(Program::close);
    if (pool != null) {
      pool.close();
    }
  }

  /** The memory of a program's lease, by which it is known. */
  private static long memoryBytes(int program) {
    return (64 + 8 * program) * MIB;
  }

  private static int priority(int program) {
    return program % 3;
  }

  private static int heldMib(int program) {
    return 4 * (program % 5);
  }

  private static int program(LeaseInfo lease) {
    return (int) (memory(lease) / MIB - 64) / 8;
  }

  private static int priority(LeaseInfo lease) {
    return priority(program(lease));
  }

  private static long memory(LeaseInfo lease) {
    return lease.getGrants(0).getGrant().getMemoryBytes();
  }

  private static String server(LeaseInfo lease) {
    return lease.getGrants(0).getGrant().getServer();
  }

  private static Program program(int number) {
    String[] lease = {
      "-m",
      memoryBytes(number) / MIB + "Mi",
      "--priority",
      Integer.toString(priority(number)),
      "--class",
      number % 7 == 0 ? "latency" : "batch",
      "--select",
      "server=m0"
    };
    Path resumed = CPrograms.fixture("resumed", "small", "-DVALUES=257", "-DPAUSE_MICROS=1000000");
    return first
        .run(lease, resumed, Distribution.KERNELS, "until-end-of-input", heldMib(number))
        .start();
  }

  /** The leases in the order in which a server says that it has moved them. */
  private static List<String> movedBy(Pool server) {
    return MOVED
        .matcher(server.server().errors())
        .results()
        .map((MatchResult found) -> found.group(1))
        .toList();
  }

  /** Checks that these leases have moved in this order; a server's lines come after its answers. */
  private static void requireMovedBy(Pool server, List<LeaseInfo> leases) {
    await().atMost(LIMIT).untilAsserted(() -> assertThat(movedBy(server)).isEqualTo(ids(leases)));
  }

  private static List<LeaseInfo> firstToMoveFirst() {
    return first.leases().stream().sorted(FIRST_TO_MOVE).toList();
  }

  private static List<String> ids(List<LeaseInfo> leases) {
    return leases.stream().map(LeaseInfo::getId).toList();
  }

  private static Map<String, Long> usedBytes() {
    return first.leases().stream()
        .collect(
            Collectors.toMap(LeaseInfo::getId, lease -> lease.getGrants(0).getUsedMemoryBytes()));
  }

  /** What programs use beside what they hold: the same for all once all of them compute. */
  private static Set<Long> workingBytes() {
    return first.leases().stream()
        .map(lease -> lease.getGrants(0).getUsedMemoryBytes() - heldMib(program(lease)) * MIB)
        .collect(Collectors.toSet());
  }

  /** Checks that each GPU has as much free as its leases leave. */
  private static void requireLeasesAddUp() {
    Map<String, Long> leased =
        first.leases().stream()
            .map(lease -> lease.getGrants(0).getGrant())
            .collect(
                Collectors.groupingBy(
                    grant -> grant.getServer() + "/" + grant.getGpu(),
                    Collectors.summingLong(grant -> grant.getMemoryBytes())));
    for (GpuInfo gpu : first.gpus()) {
      String place = gpu.getServer() + "/" + gpu.getGpu();
      assertThat(gpu.getFreeMemoryBytes())
          .as(place)
          .isEqualTo(GPU_BYTES - leased.getOrDefault(place, 0L));
    }
  }

  private static Program.Ended drain(String server, String deadline) {
    return first.gpupool(LIMIT, "server", "drain", server, "--move", "--deadline", deadline);
  }

  private static Map<String, DrainedLease> drained(String name) {
    return first.stub().listServers(ListRequest.getDefaultInstance()).getServersList().stream()
        .filter(server -> server.getName().equals(name))
        .map(ServerInfo::getDrainedLeasesList)
        .flatMap(List::stream)
        .collect(Collectors.toMap(DrainedLease::getLeaseId, Function.identity()));
  }

  @Test
  @Order(1)
  void drain_roomForAll_movesThemInOrderAndLosesNothing() {
    await()
        .atMost(LIMIT)
        .untilAsserted(() ->
            assertThat(workingBytes()).singleElement(InstanceOfAssertFactories.LONG).isPositive());
    List<LeaseInfo> before = firstToMoveFirst();
    Map<String, Long> usedBefore = usedBytes();
    Program.Ended ended = drain("m0", "10m");
    assertThat(ended.status()).as(ended.toString()).isZero();
    assertThat(ended.output()).containsPattern("m0 +drained +0 ");
    assertThat(ended.output()).doesNotContain(" stays: ");
    for (LeaseInfo lease : before) {
      assertThat(ended.output()).containsPattern(lease.getId() + " -> m1/[0-3]  pause [0-9]+ ms");
    }
    pool.awaitAllAt("m1", PROGRAMS);
    requireMovedBy(first, before);
    requireLeasesAddUp();
    assertThat(usedBytes()).isEqualTo(usedBefore);
    assertThat(first.leases())
        .allSatisfy(lease ->
            assertThat(before)
                .anySatisfy(same -> {
                  assertThat(same.getId()).isEqualTo(lease.getId());
                  assertThat(memory(same)).isEqualTo(memory(lease));
                  assertThat(same.getClass_()).isEqualTo(lease.getClass_());
                }));
  }

  @Test
  @Order(2)
  void drain_roomForSome_endsTheRestAtTheDeadlineAndTellsThem() {
    Program.Ended back = second.gpupool("server", "uncordon", "m0");
    assertThat(back.status()).as(back.toString()).isZero();
    List<Program> others = new ArrayList<>();
    try {
      for (int i = 0; i < GPUS; i++) {
        long heldBytes = i == 0 ? GPU_BYTES - ROOM_BYTES : GPU_BYTES;
        others.add(holder(heldBytes / MIB + "Mi"));
      }
      drainToLittleRoom();
    } finally {
      others.forEach(Program::close);
    }
    pool.awaitAllFree();
  }

  private static Program holder(String memory) {
    Program holder = first.run(new String[] {"-m", memory, "--select", "server=m0"}, "cat").start();
    holder.send("holds its memory");
    holder.awaitLine("holds its memory"::equals, LIMIT);
    return holder;
  }

  private static void drainToLittleRoom() {
    List<LeaseInfo> before =
        firstToMoveFirst().stream().filter(lease -> server(lease).equals("m1")).toList();
    assertThat(before).hasSize(PROGRAMS);
    PoolAdminGrpc.newBlockingStub(first.stub().getChannel())
        .drainServer(DrainServerRequest.newBuilder().setName("m1").setMove(true).build());
    List<LeaseInfo> fitting = fitting(before);
    List<LeaseInfo> left = new ArrayList<>(before);
    left.removeAll(fitting);
    assertThat(left).isNotEmpty();
    await()
        .atMost(LIMIT)
        .untilAsserted(() -> {
          Map<String, DrainedLease> told = drained("m1");
          assertThat(told.keySet()).containsAll(ids(before));
          assertThat(ids(fitting))
              .allSatisfy(id ->
                  assertThat(told.get(id).getState()).isEqualTo(DrainedLease.State.STATE_MOVED));
          assertThat(ids(left)).allSatisfy(id -> assertThat(told.get(id).getReason()).isNotEmpty());
        });
    requireMovedBy(second, fitting);
    long beginNanos = System.nanoTime();
    Program.Ended ended = drain("m1", DEADLINE.toSeconds() + "s");
    assertThat(Duration.ofNanos(System.nanoTime() - beginNanos))
        .isBetween(DEADLINE, DEADLINE.plus(SLACK));
    for (LeaseInfo lease : left) {
      assertThat(ended.output())
          .contains(lease.getId() + " stays: time was up: largest free fraction is ");
    }
    requireResults(fitting);
  }

  /** The leases that find room when the first ones come first. */
  private static List<LeaseInfo> fitting(List<LeaseInfo> leases) {
    List<LeaseInfo> fitting = new ArrayList<>();
    long freeBytes = ROOM_BYTES;
    for (LeaseInfo lease : leases) {
      if (memory(lease) <= freeBytes) {
        freeBytes -= memory(lease);
        fitting.add(lease);
      }
    }
    return fitting;
  }

  /** Checks that the programs whose leases have moved end well, and the others know why. */
  private static void requireResults(List<LeaseInfo> moved) {
    List<Long> kept = moved.stream().map(FullServerDrainIT::memory).toList();
    for (int i = 0; i < PROGRAMS; i++) {
      Program program = programs.get(i);
      program.endInput();
      Program.Ended ended = program.awaitEnd(LIMIT);
      if (kept.contains(memoryBytes(i))) {
        assertThat(ended.status()).as(ended.toString()).isZero();
        assertThat(ended.output()).contains("resumed: OK");
      } else {
        assertThat(ended.status()).as(ended.toString()).isNotZero();
        assertThat(ended.errors()).contains("server m1 is drained", "and time is up");
      }
    }
  }
}
