// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The controller with a real pool, and an API server that keeps what it is given. */
class LeaseControllerIT {
  private TestPool pool;
  private TestCluster cluster;
  private LeaseController controller;

  @BeforeEach
  void start() throws IOException {
    pool = new TestPool("soft:1");
    cluster = new TestCluster();
    controller = pool.controller(cluster.client);
  }

  @AfterEach
  void stop() throws IOException {
    controller.close();
    cluster.close();
    pool.close();
  }

  @Test
  void pod_gpuIsFree_runsWithItsLease() {
    cluster.create("train", "0.5");
    await().until(() -> cluster.isGranted("train"));
    await()
        .untilAsserted(() ->
            assertThat(controller.figures().orElseThrow())
                .as("two patches and an event")
                .isEqualTo(new Figures(1, 0, 1, 3, true)));
    assertThat(cluster.told("train")).isEqualTo("Granted: lease L1: 50 % of GPU 0 of test");
    await()
        .untilAsserted(() -> assertThat(cluster.events("train")).containsExactly("LeaseGranted"));
  }
}
