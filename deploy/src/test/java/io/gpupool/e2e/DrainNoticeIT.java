// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A server on a machine that is about to be taken away. */
class DrainNoticeIT {
  @Test
  void notice_isLeft_serverGrantsNothingMoreAndRuns(@TempDir Path folder) throws Exception {
    Path notice = folder.resolve("going");
    try (Pool pool = Pool.start("soft:1,mem=1Gi", "--drain-notice", notice.toString())) {
      assertThat(gpupool(pool, "run", "-p", "0.5", "--", "true").status()).isZero();
      Files.createFile(notice);
      await()
          .atMost(Duration.ofSeconds(30))
          .until(() -> gpupool(pool, "list", "--output", "json").output().contains("\"stopping\""));
      Program.Ended refused = gpupool(pool, "run", "-p", "0.5", "--", "true");
      assertThat(refused.status()).as(refused.toString()).isNotZero();
      assertThat(refused.errors()).contains("stopping");
    }
  }

  private static Program.Ended gpupool(Pool pool, Object... arguments) {
    Object[] line = new Object[arguments.length + 1];
    line[0] = Distribution.gpupool();
    System.arraycopy(arguments, 0, line, 1, arguments.length);
    return Program.of(line).with("GPUPOOL_POOL", pool.address()).run();
  }
}
