// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.api.model.ContainerStatus;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Two servers of a real Kubernetes, one on each node, that share an etcd. */
class ServersIT {
  private static final String ETCD = "http://10.85.0.1:22379";

  @TempDir private static Path folder;
  private static ClusterWithPool pool;
  private static Pods pods;

  @BeforeAll
  static void install() throws IOException {
    TwoNodes.assumeWanted();
    pool = ClusterWithPool.start(2, folder, 2, ServersIT::values);
    pods = pool.pods();
  }

  private static String values(Cluster cluster) {
    cluster.startOnNode(
        Cluster.NODE,
        folder.resolve("etcd.log"),
        "exec etcd --data-dir %s --listen-client-urls %s --advertise-client-urls %s"
                .formatted(folder.resolve("etcd"), ETCD, ETCD)
            + " --listen-peer-urls http://127.0.0.1:22380"
            + " --initial-advertise-peer-urls http://127.0.0.1:22380"
            + " --initial-cluster default=http://127.0.0.1:22380");
    return Installation.ONE_SERVER
        + "  replicas: 2\n"
        + "  persistence: {enabled: false}\n"
        + "  etcd: {endpoints: ['10.85.0.1:22379']}\n"
        + "  affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution:"
        + " [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels:"
        + " {app.kubernetes.io/component: server}}}]}}\n";
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
    pool.deletePods(Duration.ofMinutes(3));
  }

  @Test
  void pod_ofTwoGpus_hasOneOfEachServer() {
    pods.make("both", Pods.spec("2", pods.computesAndStays()));
    pods.awaitStays("both");
    assertThat(pool.gpupool().inController("gpupool", "lease", "list"))
        .contains("gpupool-server-0/0", "gpupool-server-1/0");
  }

  @Test
  void server_deleted_leavesPodsOfTheOtherAloneAndServesItsOwnAgain() {
    List<String> names = List.of("a", "b");
    for (String name : names) {
      pods.make(name, Pods.spec("1", pods.computesOnAndOn()).replace("Never", "Always"));
      pods.awaitComputing(name);
    }
    pool.cluster().kubectlPrints("delete", "pod", "gpupool-server-1", "-n", Installation.NAMESPACE);
    pool.gpupool().awaitReady();
    Later.within(
        Duration.ofMinutes(3),
        () -> assertThat(names).anySatisfy(name -> assertThat(restarts(name)).isPositive()));
    names.forEach(pods::awaitComputing);
    assertThat(names).anySatisfy(name -> assertThat(restarts(name)).isZero());
  }

  private static int restarts(String name) {
    return pods.get(name).getStatus().getContainerStatuses().stream()
        .mapToInt(ContainerStatus::getRestartCount)
        .sum();
  }
}
