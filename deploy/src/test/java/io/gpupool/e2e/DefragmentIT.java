// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;

/** A request for a whole GPU, for which a running program makes room by moving to another one. */
class DefragmentIT {
  private static final Duration LIMIT = Duration.ofMinutes(2);
  private static final String[] HALF = {"-m", "512Mi", "--compute", "50"};
  private static final String[] HALF_OF_ANOTHER = {"-m", "512Mi", "--compute", "50", "--spread"};
  private static final String[] WHOLE = {"--wait", "2m"};

  private static Program running(Pool pool, String[] share) {
    return pool.run(share, CPrograms.fixture("resumed"), Distribution.KERNELS, "until-end-of-input")
        .start();
  }

  private static void requireResult(Program program) {
    program.endInput();
    Program.Ended ended = program.awaitEnd(LIMIT);
    assertThat(ended.status()).as(ended.toString()).isZero();
    assertThat(ended.output()).contains("resumed: OK");
  }

  @Test
  void request_thatFitsThePoolButNoGpu_getsOneWhenAProgramHasMoved() {
    try (Pool pool = Pool.start("soft:2,mem=1Gi", "--name", "s", "--defragment-moves", "1");
        Program one = running(pool, HALF)) {
      pool.awaitWorking(1, 0);
      try (Program other = running(pool, HALF_OF_ANOTHER)) {
        pool.awaitWorking(2, 0);
        assertThat(pool.leases())
            .extracting(lease -> lease.getGrants(0).getGrant().getGpu())
            .as("each on a GPU of its own")
            .containsExactlyInAnyOrder(0, 1);
        try (Program large = running(pool, WHOLE)) {
          pool.awaitWorking(3, 0);
          assertThat(large.report()).contains("it fits once L").contains(" has moved to s/");
          requireResult(large);
        }
        requireResult(other);
      }
      requireResult(one);
      pool.awaitFreeBytes(2L << 30);
    }
  }
}
