// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e.kubernetes;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests in a real Kubernetes of two nodes, which a build has no time for. Run by {@code
 * -Dgpupool.kubernetes.all=true}, on a machine that is quiet.
 */
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
abstract class TwoNodes {
  @TempDir static Path folder;
  static Cluster cluster;
  static Installation gpupool;
  static Pods pods;
  private static ClusterWithPool pool;

  @BeforeAll
  static void install() throws IOException {
    assumeWanted();
    pool = ClusterWithPool.start(2, folder, "");
    cluster = pool.cluster();
    gpupool = pool.gpupool();
    pods = pool.pods();
  }

  /** Skips tests that a build has no time for. */
  static void assumeWanted() {
    assumeTrue(
        Boolean.getBoolean("gpupool.kubernetes.all"), "skipped: -Dgpupool.kubernetes.all=true");
  }

  @AfterAll
  static void end() {
    if (pool != null) {
      pool.close();
      pool = null;
    }
  }

  @AfterEach
  void nothingIsLeft() {
    pods.deleteWorkloads();
    pool.deletePods(Duration.ofMinutes(3));
  }
}
