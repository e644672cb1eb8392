// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.ListRequest;
import io.gpupool.control.v1.PoolGrpc;
import io.gpupool.json.JsonForm;
import io.grpc.ManagedChannel;
import io.grpc.netty.NettyChannelBuilder;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PoolKillIT {
  @TempDir Path state;

  private int port;

  private ManagedChannel connect() {
    return NettyChannelBuilder.forAddress("127.0.0.1", port).usePlaintext().build();
  }

  private List<LeaseInfo> leases() {
    ManagedChannel channel = connect();
    try {
      return PoolGrpc.newBlockingStub(channel)
          .withDeadlineAfter(10, TimeUnit.SECONDS)
          .listLeases(ListRequest.getDefaultInstance())
          .getLeasesList();
    } finally {
      channel.shutdownNow();
    }
  }

  @Test
  void pool_isKilledAndStartsAgain_podsHaveTheSameLeases() throws Exception {
    PoolProcess pool = new PoolProcess("soft:1", 0, state);
    port = pool.port;
    try (TestCluster cluster = new TestCluster()) {
      LeaseController controller =
          LeaseController.start(cluster.client, this::connect, TestPool.KEY, TestPool.OPTIONS);
      try {
        cluster.create("a", "0.5");
        cluster.create("b", "0.5");
        await().until(() -> cluster.isGranted("a") && cluster.isGranted("b"));
        cluster.create("c", "0.5");
        await().until(() -> cluster.told("c").startsWith("Queued"));
        String before = cluster.told("a") + cluster.told("b");
        pool.kill();
        await().until(() -> cluster.told("c").startsWith("Unreachable"));
        cluster.delete("b");
        pool = new PoolProcess("soft:1", port, state);
        await().atMost(Duration.ofSeconds(30)).until(() -> cluster.isGranted("c"));
        assertThat(before).contains(cluster.told("a"));
        assertThat(cluster.events("a")).containsExactly("LeaseGranted");
        await()
            .untilAsserted(() ->
                assertThat(leases())
                    .extracting(
                        lease -> lease.getPod().getName() + " " + JsonForm.text(lease.getState()))
                    .containsExactlyInAnyOrder("a held", "c held"));
      } finally {
        controller.close();
      }
    } finally {
      pool.kill();
    }
  }
}
