// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/**
 * A campaign with a large managed buffer that goes to a file by {@code write(2)} round after round:
 * {@code ./mvnw verify -Dit.test=ManagedFileIT -Dgpupool.managed.mebibytes=1024}, after {@link
 * CudaProgramsIT} has compiled the programs. That runs the same program with a small buffer.
 */
@EnabledIfSystemProperty(named = "gpupool.managed.mebibytes", matches = "[0-9]+")
class ManagedFileIT {
  private static final int ROUNDS = 8;
  private static final Duration RUNNING = Duration.ofMinutes(15);

  private static final Path PROGRAM =
      Distribution.WORK.resolve("cuda", "sm_75-O3-static", "managed_file");

  @Test
  void largeBuffer_writtenToAFileAgainAndAgain_isRightEachTime() {
    String mebibytes = System.getProperty("gpupool.managed.mebibytes");
    try (Pool pool =
        Pool.startAsInstalled("soft:1,mem=" + (Integer.parseInt(mebibytes) + 512) + "Mi")) {
      Program.Ended ended =
          pool.run(new String[] {}, PROGRAM.toString(), mebibytes, Integer.toString(ROUNDS))
              .run(RUNNING);

      assertThat(ended.output()).as(ended.toString()).contains("managed_file: OK " + mebibytes);
      assertThat(ended.status()).as(ended.toString()).isZero();
    }
  }
}
