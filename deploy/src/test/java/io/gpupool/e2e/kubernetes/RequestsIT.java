// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.api.model.Pod;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Requests of pods in a real Kubernetes, and changes that users make to those pods meanwhile. */
class RequestsIT {
  @TempDir private static Path folder;
  private static ClusterWithPool pool;
  private static Cluster cluster;
  private static Pods pods;

  @BeforeAll
  static void install() throws IOException {
    TwoNodes.assumeWanted();
    pool = ClusterWithPool.start(1, folder, "");
    cluster = pool.cluster();
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
    pods.deleteWorkloads();
    pool.deletePods(Duration.ofMinutes(2));
  }

  @Test
  void memoryOfAGpu_withAShareOfItsTime_isWhatTheLeaseHas() {
    pods.make(
        "memory",
        spec("gpupool.io/gpu-memory: 8Gi, gpupool.io/gpu-compute: 30", pods.computesAndStays()));
    pods.awaitStays("memory");
    assertThat(leases()).contains("\"memoryBytes\": 8589934592", "\"computePercent\": 30.0");
    assertThat(percent("memory")).isEqualTo("30");
  }

  @Test
  void resourcesOfBitfusion_areTaken() {
    pods.make(
        "old",
        spec(
            "bitfusion.io/gpu-amount: 1, bitfusion.io/gpu-memory: 2000M", pods.computesAndStays()));
    pods.awaitStays("old");
    assertThat(leases()).contains("\"memoryBytes\": 2000000000");
  }

  @Test
  void selection_thatNoGpuMatches_isRefusedWithTheReason() {
    annotated("picky", "gpupool.io/select: model=*H100*", Pods.spec("0.5", pods.computes()));
    Later.is(() ->
        assertThat(pods.lease("picky"))
            .hasValueSatisfying(
                text -> assertThat(text).startsWith("Refused: ").contains("no GPU matches")));
  }

  @Test
  void priority_byAnnotation_comesFirst() {
    pods.make("holder", Pods.spec("1", pods.computesAndStays()));
    pods.awaitStays("holder");
    pods.make("usual", Pods.spec("1", pods.computesAndStays()));
    pods.awaitQueued("usual");
    annotated("sooner", "gpupool.io/priority: \"5\"", Pods.spec("1", pods.computes()));
    Later.is(() ->
        assertThat(pods.lease("sooner"))
            .hasValueSatisfying(text -> assertThat(text).startsWith("Queued: place 1 ")));
    pods.delete("holder");
    pods.awaitComputed("sooner");
  }

  @Test
  void requestOfADeployment_changedAndTakenBack_rollsOut() {
    for (String gpu : new String[] {"0.2", "0.4"}) {
      pods.makeDeployment("changing", 1, Pods.spec(gpu, pods.computesAndStays()));
      rolledOut();
      Later.is(() ->
          assertThat(percent(pods.withLabel("app", "changing")))
              .isEqualTo(gpu.equals("0.2") ? "20" : "40"));
    }
    pods.makeDeployment("changing", 1, Pods.spec("0", "exec sleep 1000"));
    rolledOut();
    assertThat(pods.specification("deployment/changing")).doesNotContain("gpu-percent");
    Later.is(() -> assertThat(pool.gpupool().leases()).isEmpty());
  }

  @Test
  void container_thatCrashes_keepsItsLease() {
    pods.make(
        "crashing",
        Pods.spec("0.25", pods.computes() + "; sleep 1; exit 1").replace("Never", "Always"));
    Later.is(() ->
        assertThat(pods.get("crashing").getMetadata().getAnnotations())
            .containsKey("gpupool.io/leases"));
    String lease = pods.leaseId("crashing");
    Later.within(
        Duration.ofMinutes(2), () -> assertThat(restarts("crashing")).isGreaterThanOrEqualTo(2));
    assertThat(pods.leaseId("crashing")).isEqualTo(lease);
    assertThat(pool.gpupool().leases()).containsExactly(lease);
  }

  @Test
  void gate_thatAUserLifts_leavesTheProgramToWaitAtItsPlace() {
    pods.make("holder", Pods.spec("1", pods.computesAndStays()));
    pods.awaitStays("holder");
    pods.make("eager", Pods.spec("0.5", pods.computes()));
    pods.awaitQueued("eager");
    cluster.kubectlPrints(
        "patch",
        "pod",
        "eager",
        "-n",
        "team",
        "--type=json",
        "-p",
        "[{\"op\": \"remove\", \"path\": \"/spec/schedulingGates\"}]");
    Later.is(() -> assertThat(pods.get("eager").getSpec().getSchedulingGates()).isEmpty());
    assertThat(pods.log("eager")).doesNotContain("OK");
    pods.delete("holder");
    pods.awaitComputed("eager");
  }

  @Test
  void debugContainer_ofAPodWithGpus_hasNone() {
    pods.make("debugged", Pods.spec("0.5", pods.computesAndStays()));
    pods.awaitStays("debugged");
    cluster.kubectlPrints(
        "debug",
        "debugged",
        "-n",
        "team",
        "--image=" + ProgramImage.NAME,
        "--image-pull-policy=IfNotPresent",
        "--container=debugger",
        "--",
        "sh",
        "-c",
        pods.computes());
    Later.is(() -> {
      Pod pod = pods.get("debugged");
      assertThat(pod.getStatus().getEphemeralContainerStatuses())
          .singleElement()
          .satisfies(status -> assertThat(status.getState().getTerminated()).isNotNull());
    });
    assertThat(cluster.kubectl("logs", "debugged", "-n", "team", "-c", "debugger").output())
        .doesNotContain("OK");
    assertThat(pods.lease("debugged"))
        .hasValueSatisfying(text -> assertThat(text).startsWith("Granted"));
  }

  @Test
  void node_cordonedWithItsServer_drainsItUntilItIsBack() {
    cluster.kubectlPrints("cordon", Cluster.NODE);
    try {
      Later.is(() -> assertThat(servers()).contains("drain"));
      assertThat(
              cluster.kubectlPrints(
                  "get",
                  "statefulset",
                  "gpupool-server",
                  "-n",
                  Installation.NAMESPACE,
                  "-o",
                  "jsonpath={.metadata.annotations}"))
          .contains("gpupool.io/drained");
    } finally {
      cluster.kubectlPrints("uncordon", Cluster.NODE);
    }
    Later.is(() -> assertThat(servers()).doesNotContain("drain"));
    pods.make("after", Pods.spec("0.5", pods.computes()));
    pods.awaitComputed("after");
  }

  @Test
  void claimsOfAPartition_whereTheClusterCountsCapacity_eachHaveTheirPart() {
    String gate = "--feature-gates=DRAConsumableCapacity=true";
    cluster.restartApiServer(gate);
    cluster.restartScheduler(gate);
    pool.gpupool().upgrade("dra.enabled", "true");
    pool.gpupool().makePartition("20Gi", 50);
    try {
      pods.apply(
          "{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: part},"
              + " spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName:"
              + " gpupool.io, capacity: {requests: {memory: 8Gi, compute: 20}}}}]}}}}");
      for (String name : List.of("first", "second")) {
        pods.apply(
            "{apiVersion: v1, kind: Pod, metadata: {name: "
                + name
                + ", annotations: {gpupool.io/claims: \"true\"}}, spec: {restartPolicy: Never,"
                + " terminationGracePeriodSeconds: 1, resourceClaims: [{name: gpu,"
                + " resourceClaimTemplateName: part}], containers: [{name: main, image: '"
                + ProgramImage.NAME
                + "', command: [sh, -c, '"
                + pods.computesAndStays()
                + "'], resources: {claims: [{name: gpu}]}}]}}");
      }
      for (String name : List.of("first", "second")) {
        Later.within(Duration.ofMinutes(3), () -> assertThat(pods.log(name)).contains("stays"));
      }
      assertThat(leases().split("\"memoryBytes\": 8589934592", -1)).hasSize(3);
    } finally {
      pods.deleteAll();
      Later.is(() -> assertThat(pool.gpupool().leases()).isEmpty());
      pool.gpupool().deletePartition();
    }
  }

  @Test
  void http_withoutAToken_tellsNothingOfThePool() {
    String address =
        cluster
            .client()
            .pods()
            .inNamespace(Installation.NAMESPACE)
            .withName("gpupool-server-0")
            .get()
            .getStatus()
            .getPodIP();
    for (String path : new String[] {"/metrics", "/api/v1/gpus", "/api/v1/leases"}) {
      assertThat(
              cluster.onNode(
                  Cluster.NODE,
                  List.of(
                      "curl",
                      "-k",
                      "-s",
                      "-o",
                      "/dev/null",
                      "-w",
                      "%{http_code}",
                      "https://" + address + ":7640" + path)))
          .as(path)
          .isEqualTo("401");
    }
  }

  /** All leases of the pool, in JSON. */
  private static String leases() {
    return pool.gpupool().inController("gpupool", "lease", "list", "--output", "json");
  }

  private static String servers() {
    return pool.gpupool().inController("gpupool", "top");
  }

  private static void rolledOut() {
    cluster.kubectlPrints(
        "rollout", "status", "deployment/changing", "-n", "team", "--timeout=90s");
  }

  private static String percent(String pod) {
    return pods.get(pod)
        .getSpec()
        .getContainers()
        .getFirst()
        .getResources()
        .getLimits()
        .get("gpupool.io/gpu-percent")
        .getAmount();
  }

  private static int restarts(String pod) {
    return pods.get(pod).getStatus().getContainerStatuses().getFirst().getRestartCount();
  }

  private static void annotated(String name, String annotation, String spec) {
    pods.apply(
        "{apiVersion: v1, kind: Pod, metadata: {name: "
            + name
            + ", annotations: {"
            + annotation
            + "}}, spec: "
            + spec
            + "}");
  }

  /** A pod of one container with these limits. */
  private static String spec(String limits, String command) {
    return Pods.spec("0.5", command).replace("gpupool.io/gpu: 0.5", limits);
  }
}
