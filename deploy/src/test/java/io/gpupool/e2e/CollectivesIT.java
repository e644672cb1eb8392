// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.transport.tls.TestAuthority;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Collectives of NCCL between software GPUs of one process, of several processes, and of several
 * servers. {@code -Dgpupool.collectives.cases=1000} tries more cases than a normal build does.
 */
class CollectivesIT {
  private static final int CASES = Integer.getInteger("gpupool.collectives.cases", 30);
  private static final int LARGE_CASES = Math.max(6, CASES / 5);
  private static final int LARGE_BYTES = 64 << 20;
  private static final String OK = "conformance: OK\n";
  private static final Duration PATIENCE = Duration.ofMinutes(5 + CASES / 100);

  @TempDir static Path shared;
  @TempDir Path folder;
  private static Pool one;
  private static TwoServers two;

  @AfterAll
  static void stopPools() {
    if (one != null) {
      one.close();
    }
    if (two != null) {
      two.close();
    }
  }

  @AfterEach
  void nothingIsLeft() {
    if (one != null) {
      one.awaitIdle();
    }
    if (two != null) {
      two.first().awaitIdle();
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 3, 4, 8})
  void ranks_ofOneProcess_giveNcclsResults(int gpus) {
    String[] share = {"-n", Integer.toString(gpus), "-p", "0.1"};
    Program.Ended ended = oneServer().run(share, conformance(CASES, gpus)).run(PATIENCE);
    assertThat(ended.status()).as(ended.toString()).isZero();
    assertThat(ended.output()).contains(OK);
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 4})
  void ranks_ofProcessesOnOneServer_giveNcclsResults(int count) {
    try (Ranks ranks = new Ranks(folder, count, conformance(CASES, 10 + count))) {
      ranks.startOn(oneServer()).awaitAll(OK);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 3, 8})
  void ranks_onTwoServers_giveNcclsResults(int count) throws Exception {
    try (Ranks ranks = new Ranks(folder, count, conformance(CASES, 20 + count))) {
      ranks.startOn(twoServers()).awaitAll(OK);
    }
  }

  @Test
  void ranks_onTwoServersWithLargeMessages_giveNcclsResults() throws Exception {
    Object[] command = conformance(LARGE_CASES, 30);
    Object[] large = concat(command, "--max", LARGE_BYTES);
    try (Ranks ranks = new Ranks(folder, 2, large)) {
      ranks.startOn(twoServers()).awaitAll(OK);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 3})
  void ranks_onTwoServersThatSpeakTls_giveNcclsResults(int count) throws Exception {
    TestAuthority authority = new TestAuthority(folder.resolve("authority"));
    TestAuthority.Issued issued = authority.issue("server", "IP:127.0.0.1");
    Object[] tls = {
      "--tls-cert",
      issued.certificate(),
      "--tls-key",
      issued.key(),
      "--tls-peer-ca",
      authority.root()
    };
    Path state = Files.createDirectory(folder.resolve("etcd"));
    TwoServers.Starter starter =
        options -> Pool.start("soft:1,mem=1Gi", strings(concat(options, tls)));
    try (TwoServers pool = TwoServers.start(state, 2L << 30, starter);
        Ranks ranks = new Ranks(folder, count, conformance(CASES, 40 + count))) {
      ranks.with("GPUPOOL_TLS_CA", authority.root()).startOn(pool).awaitAll(OK);
      pool.first().awaitIdle();
    }
  }

  @Test
  void training_onTwoServers_givesTheWeightsOfOneProcess() throws Exception {
    Path weights = NcclTraining.alone(oneServer(), folder);
    Object[] command = NcclTraining.command("--expect", weights);
    try (Ranks ranks = new Ranks(folder, 2, command)) {
      ranks.startOn(twoServers()).awaitAll(NcclTraining.DONE);
    }
  }

  private static Object[] conformance(int cases, int seed) {
    return new Object[] {CPrograms.ncclExample("conformance"), "--cases", cases, "--seed", seed};
  }

  private static Pool oneServer() {
    if (one == null) {
      one = Pool.start("soft:8,mem=1Gi");
    }
    return one;
  }

  private static TwoServers twoServers() throws Exception {
    if (two == null) {
      two = TwoServers.start(shared);
    }
    return two;
  }

  private static Object[] concat(Object[] some, Object... more) {
    return Stream.concat(Arrays.stream(some), Arrays.stream(more)).toArray();
  }

  private static String[] strings(Object[] words) {
    return Arrays.stream(words).map(Object::toString).toArray(String[]::new);
  }
}
