// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.awaitility.Awaitility.await;

import io.gpupool.control.v1.SessionInfo;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Memory of leases on a modelled card of 8 GiB, where contexts take 400 MiB and blocks have 2 MiB:
 * what programs can allocate, and what the card's driver has given out then.
 */
class ModelMemoryIT {
  private static final long MIB = 1L << 20;
  private static final long CARD = 8192 * MIB;
  private static final long HALF = CARD / 2;
  private static final long CONTEXT = 400 * MIB;

  /** Room for code that is kept ahead, and the last block. */
  private static final long RESERVE = 18 * MIB;

  private static final Pattern FILLED = Pattern.compile("filled (\\d+) of (\\d+)");

  private static ModelGpu gpu;

  @BeforeAll
  static void startPool() {
    gpu = ModelGpu.start("mem=8Gi,context=400Mi");
  }

  @AfterAll
  static void stopPool() {
    if (gpu != null) {
      gpu.close();
    }
  }

  @AfterEach
  void nothingIsLeft() {
    gpu.pool().awaitIdle();
    assertThat(gpu.pool().freeBytes()).isEqualTo(CARD);
  }

  @ParameterizedTest
  @CsvSource({
    "large, contexts",
    "odd, pitched",
    "small, heap",
    "in-order, pool",
    "virtual, local",
    "array, mipmapped",
    "managed, variables",
  })
  void leases_filledByTheseKinds_haveTheirQuotaAndNoMore(String kind, String otherKind) {
    try (Program one = start("0.5", kind);
        Program other = start("0.5", otherKind)) {
      assertFull(one);
      assertFull(other);
      ModelGpu.Usage usage = gpu.usage();
      assertThat(usage.cardBytes()).isLessThanOrEqualTo(CARD);
      assertThat(usage.processBytes())
          .hasSize(2)
          .allSatisfy(bytes -> assertThat(bytes).isBetween(HALF - RESERVE, HALF));
    }
  }

  @Test
  void usedMemory_askedOfPoolSmiAndDriver_isTheSame() {
    String smi =
        Distribution.gpupool() + " smi --query-gpu=memory.used --format=csv,noheader,nounits";
    String script = program() + " large | { read line; echo \"$line\"; echo smi $(" + smi + "); }";
    try (Program program = gpu.pool().run(new String[] {"-p", "0.5"}, "sh", "-c", script).start()) {
      assertFull(program);
      String told = program.awaitLine(line -> line.startsWith("smi "));
      SessionInfo session = gpu.pool().sessions().getFirst();
      long used = session.getUsedMemoryBytes(0);
      assertThat(gpu.usage().cardBytes()).isCloseTo(used, within(HALF / 100));
      assertThat(Long.parseLong(told.substring("smi ".length())) * MIB)
          .isCloseTo(used, within(HALF / 100));
      await()
          .untilAsserted(() ->
              assertThat(gpu.pool().sessions().getFirst().getDriverMemoryBytes())
                  .isBetween(CONTEXT, CONTEXT + RESERVE));
      program.send("");
    }
  }

  @Test
  void processesOfOneLease_countTheirContextsEach() {
    Program.Ended ended =
        gpu.pool()
            .run(
                new String[] {"-m", "1Gi"},
                "sh",
                "-c",
                "for i in 1 2 3; do sleep 6 | " + program() + " nothing & done; wait")
            .run();
    assertThat(ended.output().lines().filter(line -> line.contains("filled"))).hasSize(2);
    assertThat(ended.output() + ended.errors())
        .contains("CUDA_ERROR_OUT_OF_MEMORY")
        .contains("a context on GPU 0 takes");
  }

  @Test
  void context_moreThanTheLeaseHas_isToldWithItsSize() {
    Program.Ended ended = gpu.pool().run(new String[] {"-m", "64Mi"}, program(), "large").run();
    assertThat(ended.status()).isEqualTo(1);
    assertThat(ended.output()).contains("CUDA_ERROR_OUT_OF_MEMORY");
    assertThat(ended.errors())
        .contains("gpupool: a context on GPU 0 takes 400 MiB of its memory")
        .contains(
            "the lease has 64.0 MiB of 64.0 MiB left: the program needs a lease with more memory");
  }

  private static void assertFull(Program program) {
    Matcher filled = FILLED.matcher(program.awaitLine(line -> FILLED.matcher(line).matches()));
    assertThat(filled.matches()).isTrue();
    assertThat(Long.parseLong(filled.group(2))).isEqualTo(HALF);
    assertThat(Long.parseLong(filled.group(1))).isGreaterThan(HALF - RESERVE);
  }

  private static String program() {
    return CPrograms.fixture("fill_memory").toString();
  }

  private static Program start(String share, String kind) {
    return gpu.pool().run(new String[] {"-p", share}, List.of(program(), kind).toArray()).start();
  }
}
