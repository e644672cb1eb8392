// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Collectives between modelled NVIDIA GPUs, which the workers hand to a stand-in for NVIDIA's NCCL
 * that notes each call.
 */
class NcclIT {
  private static final String CARDS = "gpus=2,mem=2Gi,context=16Mi,sm=16";
  private static final Duration PATIENCE = Duration.ofMinutes(5);
  private static final int CASES = 40;
  private static final Path OWN_NCCL = Distribution.HOME.resolve("lib/nccl/libnccl.so.2");

  /** Connections are made before the first transfers, by a byte each. */
  private static final String CONNECT = "count=1 type=0 op=0";

  /** Of the communicator and its part, each by a thread of its own. */
  private static final List<String> ENDS =
      List.of("ncclCommFinalize", "ncclCommDestroy", "ncclCommFinalize", "ncclCommDestroy");

  @TempDir Path folder;

  /** Workers may write to this folder, as their driver does. */
  private final Path log = Path.of("/dev/shm", "gpupool-nccl-" + UUID.randomUUID());

  @BeforeEach
  void makeLog() throws IOException {
    Files.createFile(log);
    Files.setPosixFilePermissions(log, PosixFilePermissions.fromString("rw-rw-rw-"));
  }

  @AfterEach
  void removeLog() throws IOException {
    Files.delete(log);
  }

  private ModelGpu start(Map<String, String> environment) {
    Map<String, String> all = new TreeMap<>(environment);
    all.put("NCCL_STAND_IN_LOG", log.toString());
    return ModelGpu.startIn(all, CARDS, "--libnccl", CPrograms.ncclStandIn().toString());
  }

  /** What one rank has called, in order; lines of the thread, such as groups' ends, included. */
  private List<String> calls(int rank) throws IOException {
    String prefix = rank + "/2 ";
    return Files.readAllLines(log).stream()
        .filter(line -> line.startsWith(prefix))
        .map(line -> line.substring(prefix.length()))
        .filter(line -> !line.contains(CONNECT))
        .toList();
  }

  @Test
  void conformance_onALeaseOfTwoGpus_givesNcclsResults() throws Exception {
    try (ModelGpu gpus = start(Map.of())) {
      Object[] command = {
        CPrograms.ncclExample("conformance"), "--cases", CASES, "--seed", 3, "--max", 1 << 16
      };
      Program.Ended ended = gpus.pool().run(new String[] {"-n", "2"}, command).run(PATIENCE);
      assertThat(ended.status()).as(ended.toString()).isZero();
      assertThat(ended.output()).contains("conformance: OK\n");
      assertThat(calls(0)).filteredOn(line -> line.contains("AllReduce")).hasSizeGreaterThan(3);
      assertThat(calls(0).getLast()).isEqualTo("ncclCommDestroy");
    }
  }

  @Test
  void calls_ofEachKind_reachNcclAsTheProgramMadeThem() throws Exception {
    try (ModelGpu gpus = start(Map.of())) {
      Object[] command = {CPrograms.ncclFixture("nccl_calls")};
      Program.Ended ended = gpus.pool().run(new String[] {"-n", "2"}, command).run(PATIENCE);
      assertThat(ended.output()).as(ended.toString()).contains("nccl_calls: OK\n");
    }
    for (int rank = 0; rank < 2; rank++) {
      List<String> calls = calls(rank);
      assertThat(calls.getFirst()).startsWith("ncclCommInitRank ");
      int end = calls.size() - ENDS.size();
      assertThat(calls.subList(1, end)).containsExactlyElementsOf(expected(rank));
      assertThat(calls.subList(end, calls.size())).containsExactlyInAnyOrderElementsOf(ENDS);
    }
    List<String> all = Files.readAllLines(log);
    int send = all.indexOf("0/2 ncclSend count=18 type=2 op=0 peer=1 stream=0");
    assertThat(all.subList(send - 1, send + 3))
        .containsExactly(
            "ncclGroupStart",
            "0/2 ncclSend count=18 type=2 op=0 peer=1 stream=0",
            "0/2 ncclRecv count=18 type=2 op=0 peer=1 stream=0",
            "ncclGroupEnd");
    assertThat(all.stream().filter(line -> line.contains(CONNECT))).hasSize(4);
  }

  private static List<String> expected(int rank) {
    List<String> lines = new ArrayList<>();
    lines.add("ncclAllReduce count=11 type=7 op=0 peer=0 stream=0");
    lines.add("ncclBroadcast count=12 type=0 op=0 peer=1 stream=0");
    lines.add("ncclReduce count=13 type=5 op=1 peer=1 stream=0");
    lines.add("ncclAllGather count=14 type=6 op=0 peer=0 stream=1");
    lines.add("ncclReduceScatter count=15 type=4 op=4 peer=0 stream=0");
    for (int peer = 0; peer < 2; peer++) {
      lines.add("ncclSend count=16 type=1 op=0 peer=" + peer + " stream=0");
      lines.add("ncclRecv count=16 type=1 op=0 peer=" + peer + " stream=0");
    }
    lines.add("ncclRedOpCreatePreMulSum type=7 residence=1");
    lines.add("ncclAllReduce count=17 type=7 op=5 peer=0 stream=0");
    lines.add("ncclRedOpDestroy");
    lines.add("ncclSend count=18 type=2 op=0 peer=" + (1 - rank) + " stream=0");
    lines.add("ncclRecv count=18 type=2 op=0 peer=" + (1 - rank) + " stream=0");
    lines.add("ncclAllReduce count=19 type=8 op=2 peer=0 stream=0");
    lines.add("ncclAllReduce count=19 type=8 op=2 peer=0 stream=0");
    lines.add("ncclCommSplit color=3 key=" + (2 - rank));
    // Of the part, in which the ranks change places.
    lines.add("ncclAllReduce count=20 type=9 op=0 peer=0 stream=0");
    return lines;
  }

  @Test
  void ranks_ofTwoLeases_meetByTheIdOfRankZero_andHearOfALoss() throws Exception {
    try (ModelGpu gpus = start(Map.of());
        Ranks ranks = new Ranks(folder, 2, CPrograms.ncclFixture("nccl_calls"), "--wait", 1)) {
      ranks.startOn(gpus.pool());
      String pid = ranks.get(1).awaitLine(line -> line.startsWith("pid ")).substring(4);
      ranks.all().forEach(rank -> rank.awaitLine("joined"::equals));
      List<String> lines = Files.readAllLines(log);
      List<String> ids =
          lines.stream().filter(line -> line.startsWith("ncclGetUniqueId ")).toList();
      assertThat(ids).hasSize(1);
      String id = ids.getFirst().substring("ncclGetUniqueId ".length());
      assertThat(lines).contains("0/2 ncclCommInitRank " + id, "1/2 ncclCommInitRank " + id);
      Signals.send("KILL", pid);
      ranks.get(0).awaitLine(line -> line.startsWith("error 6 rank 1 is lost"));
      await().untilAsserted(() -> assertThat(calls(0)).contains("ncclCommAbort"));
      ranks.get(0).endInput();
      assertThat(ranks.get(0).awaitEnd(PATIENCE).status()).isZero();
    }
  }

  @ParameterizedTest
  @CsvSource({"21403, is NCCL 2.14.3; gpupool needs at least 2.18.0", "0, is NCCL 0.0.0"})
  void version_thatIsTooOld_isLoggedAndToldTheProgram(String version, String logged) {
    try (ModelGpu gpus = start(Map.of("NCCL_STAND_IN_VERSION", version))) {
      gpus.pool().server().awaitErrorLine(line -> line.contains(logged));
      Object[] command = {CPrograms.ncclFixture("nccl_calls"), "--nccl", OWN_NCCL, "--ranks", 1};
      Program.Ended ended = gpus.pool().run(new String[0], command).run(PATIENCE);
      assertThat(ended.status()).isNotZero();
      assertThat(ended.output()).contains("the server has found no NCCL that it can use");
    }
  }
}
