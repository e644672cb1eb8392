// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonParser;
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
  @TempDir private static Path folder;
  private static ClusterWithPool pool;
  private static Pods pods;

  @BeforeAll
  static void install() throws IOException {
    TwoNodes.assumeWanted();
    pool = ClusterWithPool.start(2, folder, 2, cluster -> Installation.twoServers(cluster, folder));
    pods = pool.pods();
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

  @Test
  void node_drained_programOnAnotherNodeMovesAndItsResultIsRight() {
    Cluster cluster = pool.cluster();
    String going = serverOn(Cluster.OTHER_NODE);
    String staying = serverOn(Cluster.NODE);
    makeComputing("moving", Cluster.NODE, going);
    String lease = pods.leaseId("moving");
    try {
      cluster.kubectlPrints(
          "drain",
          Cluster.OTHER_NODE,
          "--ignore-daemonsets",
          "--delete-emptydir-data",
          "--timeout=150s");
      assertThat(pool.gpupool().inController("gpupool", "lease", "list"))
          .contains(lease, staying + "/0")
          .doesNotContain(going + "/0");
      long before = calls();
      Later.is(() -> assertThat(calls()).isGreaterThan(before));
    } finally {
      cluster.kubectlPrints("uncordon", Cluster.OTHER_NODE);
    }
    pool.gpupool().awaitReady();
    pods.endInput("moving");
    Later.is(() -> assertThat(pods.log("moving")).contains("resumed: OK"));
    Later.is(() -> assertThat(pods.phase("moving")).isEqualTo("Succeeded"));
    assertThat(restarts("moving")).isZero();
    Later.is(() ->
        assertThat(pool.gpupool().inController("gpupool", "list", "--output", "json"))
            .doesNotContain("draining", "drained\"", "stopping"));
  }

  @Test
  void node_tainted_movesItsServersLeasesAndServesAgainWithoutTheTaint() {
    Cluster cluster = pool.cluster();
    String going = serverOn(Cluster.NODE);
    makeComputing("moving", Cluster.OTHER_NODE, going);
    try {
      cluster.kubectlPrints("taint", "node", Cluster.NODE, "gpupool.io/drain=:NoSchedule");
      Later.is(() ->
          assertThat(pool.gpupool().inController("gpupool", "lease", "list"))
              .contains(pods.leaseId("moving"))
              .doesNotContain(going + "/0"));
    } finally {
      cluster.kubectlPrints("taint", "node", Cluster.NODE, "gpupool.io/drain-");
    }
    pods.endInput("moving");
    Later.is(() -> assertThat(pods.log("moving")).contains("resumed: OK"));
    Later.is(() ->
        assertThat(pool.gpupool().inController("gpupool", "list", "--output", "json"))
            .doesNotContain("draining", "drained\""));
  }

  private static String serverOn(String node) {
    return pool.cluster()
        .client()
        .pods()
        .inNamespace(Installation.NAMESPACE)
        .withLabel("app.kubernetes.io/component", "server")
        .withField("spec.nodeName", node)
        .list()
        .getItems()
        .getFirst()
        .getMetadata()
        .getName();
  }

  /** Makes a pod on a node that computes on half a GPU of a server, and waits until it does. */
  private static void makeComputing(String name, String node, String server) {
    pods.apply(
        ("{apiVersion: v1, kind: Pod, metadata: {name: %s,"
                + " annotations: {gpupool.io/select: server=%s}}, spec: %s}")
            .formatted(
                name,
                server,
                Pods.spec("0.5", pods.computesUntilEndOfInput())
                    .replaceFirst(
                        "\\{", "{nodeSelector: {kubernetes.io/hostname: " + node + "}, ")));
    Later.is(
        () -> assertThat(calls()).as("%s %s", pods.phase(name), pods.events(name)).isPositive());
  }

  /** The calls that all programs have made on their sessions. */
  private static long calls() {
    String all = pool.gpupool().inController("gpupool", "list", "--output", "json");
    return JsonParser.parseString(all)
        .getAsJsonObject()
        .getAsJsonArray("sessions")
        .asList()
        .stream()
        .mapToLong(session -> session.getAsJsonObject().get("calls").getAsLong())
        .sum();
  }

  private static int restarts(String name) {
    return pods.get(name).getStatus().getContainerStatuses().stream()
        .mapToInt(ContainerStatus::getRestartCount)
        .sum();
  }
}
