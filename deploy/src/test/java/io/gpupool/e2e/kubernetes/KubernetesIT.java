// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.api.model.Quantity;
import io.gpupool.deploy.chart.ValueSets;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;

/**
 * gpupool in a real Kubernetes of one node, installed by its chart: what pods get, and what they do
 * not. One cluster is for all tests; those that end something come last. The pool has one GPU.
 */
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class KubernetesIT {
  @TempDir static Path folder;
  private static ClusterWithPool pool;
  private static Cluster cluster;
  private static Installation gpupool;
  private static Pods pods;

  @BeforeAll
  static void install() throws IOException {
    pool = ClusterWithPool.start(1, folder, "dra: {enabled: true}\n");
    cluster = pool.cluster();
    gpupool = pool.gpupool();
    pods = pool.pods();
  }

  @AfterAll
  static void end() {
    if (pool != null) {
      pool.close();
    }
  }

  @AfterEach
  void nothingIsLeft() {
    pods.deleteWorkloads();
    if (!gpupool.isInstalled()) {
      return;
    }
    pool.deletePods(Duration.ofMinutes(1));
  }

  @Test
  @Order(1)
  void podsAndWorkloads_fractionFromPlainImage_computeOnThePool() {
    pods.make("pod", Pods.spec("0.4", pods.computes()));
    Workloads workloads = new Workloads(pods);
    workloads.applyAll();
    workloads.runCronJob();
    pods.awaitComputed("pod");
    for (String kind : Workloads.KINDS) {
      Later.is(() -> pods.awaitStays(pods.withLabel("app", kind)));
    }
    assertThat(pods.events("pod"))
        .anySatisfy(event -> assertThat(event).startsWith("LeaseGranted"));
    Later.is(() ->
        assertThat(gpupool.leases()).as("of what still runs").hasSize(Workloads.KINDS.size()));
    String before = workloads.generations();
    workloads.applyAll();
    assertThat(workloads.generations()).as("applied again, nothing is another").isEqualTo(before);
    assertThat(cluster.kubectlPrints("gpupool", "top")).contains("gpupool-server-0", "50%");
    assertThat(cluster.kubectlPrints("gpupool", "leases")).contains("team/deployment-");
  }

  @Test
  @Order(2)
  void pod_whenAllIsTaken_waitsSaysWhyAndComesNext() {
    pods.make("holder", Pods.spec("1", pods.computesAndStays()));
    pods.awaitStays("holder");
    pods.make("next", Pods.spec("0.5", pods.computes()));
    Later.is(() ->
        assertThat(pods.lease("next"))
            .hasValueSatisfying(text ->
                assertThat(text)
                    .startsWith("Queued: place 1 in the queue")
                    .contains(
                        "in use by lease L", "pod team/holder", "lower gpupool.io/gpu or wait")));
    Pods others = new Pods(cluster, "default", pods.program());
    others.make("spy", Pods.spec("0.5", pods.computes()));
    others.awaitQueued("spy");
    assertThat(others.lease("spy").orElseThrow())
        .contains("not of this namespace")
        .doesNotContain("team", "holder", "pid", "-m or -p");
    others.delete("spy");
    Later.is(
        () -> assertThat(pods.events("next")).anyMatch(text -> text.startsWith("LeaseQueued")));
    assertThat(cluster.kubectlPrints("gpupool", "explain", "next", "-n", "team"))
        .contains("container main: 50 percent of a GPU", "It waits for GPUs", "place 1")
        .contains("LeaseQueued", "team/holder: lease L");
    pods.delete("holder");
    pods.awaitComputed("next");
    Later.is(() ->
        assertThat(cluster.kubectlPrints("gpupool", "explain", "next", "-n", "team"))
            .contains("It has ended"));
  }

  @Test
  @Order(3)
  void pod_moreThanThereIs_isRefusedOrSaysSo() {
    Shell.Ended tooMuchMemory =
        pods.applying(
            "{apiVersion: v1, kind: Pod, metadata: {name: large}, spec: {containers: [{name: main,"
                + " image: x, resources: {limits: {gpupool.io/gpu-memory: 200Gi}}}]}}");
    assertThat(tooMuchMemory.status()).isNotZero();
    assertThat(tooMuchMemory.errors()).contains("204800Mi", "81920Mi");
    pods.make("two", Pods.spec("2", pods.computes()));
    Later.is(() ->
        assertThat(pods.lease("two"))
            .hasValueSatisfying(text -> assertThat(text).startsWith("Refused: ")));
    assertThat(cluster.kubectlPrints("gpupool", "explain", "two", "-n", "team"))
        .contains("container main: 200 percent of a GPU", "The pool has refused it");
  }

  @Test
  @Order(4)
  void pod_leaseAndSocketOfAnother_getsNothing() {
    pods.make("owner", Pods.spec("0.5", pods.computesAndStays()));
    pods.awaitStays("owner");
    String lease = pods.leaseId("owner");
    String uid = pods.get("owner").getMetadata().getUid();
    // One that asks for nothing and takes shim and socket from the node; one that has a lease of
    // its own.
    for (String id : new String[] {lease, uid + "/main", "pod/main"}) {
      pods.make(
          "thief",
          "{restartPolicy: Never, containers: [{name: main, image: '"
              + ProgramImage.NAME
              + "', command: [sh, -c, '"
              + pods.computes()
              + "'], env: [{name: LD_LIBRARY_PATH, value: /run/gpupool/shim}, {name: GPUPOOL_AGENT,"
              + " value: /run/gpupool/agent.sock}, {name: GPUPOOL_LEASE, value: '"
              + id
              + "'}], volumeMounts: [{name: agent, mountPath: /run/gpupool}]}],"
              + " volumes: [{name: agent, hostPath: {path: /run/gpupool}}]}");
      Later.is(
          () -> assertThat(pods.phase("thief")).as("%s", pods.log("thief")).isEqualTo("Failed"));
      assertThat(pods.log("thief")).doesNotContain("OK");
      pods.delete("thief");
    }
    pods.make("guest", Pods.spec("0.25", "export GPUPOOL_LEASE=" + lease + "; " + pods.computes()));
    Later.is(() -> assertThat(pods.phase("guest")).as("%s", pods.log("guest")).isEqualTo("Failed"));
    assertThat(pods.log("guest")).doesNotContain("OK");
    assertThat(
            cluster
                .kubectl("exec", "-n", "team", "owner", "--", "sh", "-c", pods.computes())
                .output())
        .as("the owner's goes on")
        .contains("vector_add: OK");
  }

  @Test
  @Order(4)
  void programOfTheNode_inNoPod_hasGpusOfItsOwn() {
    Path gpupool = Cluster.DEPLOY.resolve("target/gpupool/bin/gpupool");
    List<Object> line =
        new ArrayList<>(List.of("env", "GPUPOOL_GPUS=soft:1", gpupool, "run", "-p", "0.5", "--"));
    pods.program().forEach(part -> line.add(folder + "/program/root" + part));
    assertThat(cluster.onNode(Cluster.NODE, line)).contains("vector_add: OK");
  }

  @Test
  @Order(5)
  void resourceQuota_rewrittenResource_counts() {
    cluster.kubectlPrints(
        "create", "quota", "gpus", "-n", "team", "--hard=requests.gpupool.io/gpu-percent=60");
    try {
      Later.is(() ->
          assertThat(
                  cluster.kubectlPrints(
                      "get", "quota", "gpus", "-n", "team", "-o", "jsonpath={.status.used}"))
              .contains("gpu-percent\":\"0\""));
      // Two GPUs, a quarter of each.
      pods.apply(
          "{apiVersion: v1, kind: Pod, metadata: {name: first, annotations: {gpupool.io/gpu-count:"
              + " \"2\"}}, spec: "
              + Pods.spec("0.25", "exec sleep 1000")
              + "}");
      Shell.Ended second =
          pods.applying(
              "{apiVersion: v1, kind: Pod, metadata: {name: second}, spec: "
                  + Pods.spec("0.25", pods.computes())
                  + "}");
      assertThat(second.errors()).contains("exceeded quota").contains("gpu-percent=50");
    } finally {
      cluster.kubectlPrints("delete", "quota", "gpus", "-n", "team");
    }
  }

  @Test
  @Order(5)
  void namespace_quotaAnnotationComesAndGoes_limitsItsPodsMeanwhile() {
    cluster.kubectlPrints("annotate", "namespace", "team", "gpupool.io/quota-gpus=0.5");
    pods.make("within", Pods.spec("0.5", pods.computesAndStays()));
    pods.awaitStays("within");
    pods.make("over", Pods.spec("0.25", pods.computes()));
    pods.awaitQueued("over");
    cluster.kubectlPrints("annotate", "namespace", "team", "gpupool.io/quota-gpus-");
    pods.awaitComputed("over");
  }

  @Test
  @Order(6)
  void goldenManifests_realApiServer_becomeWhatTheySay() throws IOException {
    GoldenManifests.Outcome outcome = new GoldenManifests(cluster).tryAll("team");
    assertThat(outcome.wrong()).isEmpty();
    assertThat(outcome.tried()).isGreaterThan(110);
  }

  @Test
  @Order(7)
  void examplesAndChart_allOfThem_areTakenByTheApiServer() throws IOException {
    DryRuns dryRuns = new DryRuns(cluster, "team");
    assertThat(dryRuns.examples())
        .as("pods of operators")
        .extracting(pod ->
            pod.getSpec()
                .getContainers()
                .getFirst()
                .getResources()
                .getLimits()
                .get("gpupool.io/gpu-percent"))
        .containsExactlyInAnyOrder(
            new Quantity("100"), new Quantity("10"), new Quantity("10"), null);
    for (String values : ValueSets.ALL) {
      dryRuns.chart(values);
    }
  }

  @Test
  @Order(9)
  void claim_ofPartition_isPreparedAndComputes() {
    gpupool.makePartition("20Gi", 25);
    try {
      pods.apply(
          "{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: gpu}, spec:"
              + " {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName:"
              + " gpupool.io}}]}}}}");
      pods.apply(
          "{apiVersion: v1, kind: Pod, metadata: {name: claims, annotations: {gpupool.io/claims:"
              + " \"true\"}}, spec: {restartPolicy: Never, terminationGracePeriodSeconds: 1,"
              + " resourceClaims: [{name: gpu, resourceClaimTemplateName: gpu}], containers: [{name:"
              + " main, image: '"
              + ProgramImage.NAME
              + "', command: [sh, -c, '"
              + pods.computes()
              + "'], resources: {claims: [{name: gpu}]}}]}}");
      pods.awaitComputed("claims");
    } finally {
      pods.deleteAll();
      Later.is(() -> assertThat(gpupool.leases()).isEmpty());
      gpupool.deletePartition();
    }
    Later.is(() ->
        assertThat(
                cluster.kubectlPrints("get", "resourceslices", "-o", "jsonpath={.items[*].kind}"))
            .isEmpty());
  }

  @Test
  @Order(11)
  void server_killedAndBack_servesItsLeasesAgain() {
    pods.make("stays", Pods.spec("0.5", pods.computesAndStays()));
    pods.awaitStays("stays");
    gpupool.killServer();
    gpupool.awaitReady();
    Later.is(() ->
        assertThat(pods.lease("stays"))
            .hasValueSatisfying(text -> assertThat(text).startsWith("Granted")));
    Later.is(() ->
        assertThat(
                cluster
                    .kubectl("exec", "-n", "team", "stays", "--", "sh", "-c", pods.computes())
                    .output())
            .contains("vector_add: OK"));
  }

  @Test
  @Order(12)
  void webhook_down_refusesFractionsAndLeavesTheRestAlone() {
    pods.apply(
        "{apiVersion: batch/v1, kind: Job, metadata: {name: running}, spec: {template: {spec: "
            + Pods.spec("0.25", pods.computes() + " && echo stays && exec sleep 20")
            + "}}}");
    Later.is(() -> pods.awaitStays(pods.withLabel("job-name", "running")));
    cluster.kubectlPrints(
        "scale", "deployment/gpupool-controller", "-n", Installation.NAMESPACE, "--replicas=0");
    Later.is(() ->
        assertThat(
                cluster.kubectlPrints(
                    "get",
                    "endpoints",
                    "gpupool-webhook",
                    "-n",
                    Installation.NAMESPACE,
                    "-o",
                    "jsonpath={.subsets}"))
            .isEmpty());
    try {
      String half =
          "{apiVersion: v1, kind: Pod, metadata: {name: half}, spec: "
              + Pods.spec("0.5", pods.computes())
              + "}";
      Later.within(
          Duration.ofSeconds(20),
          () -> assertThat(pods.applying(half).errors()).contains("failed calling webhook"));
      Pods others = new Pods(cluster, "default", pods.program());
      others.make(
          "plain",
          "{restartPolicy: Never, containers: [{name: main, image: '"
              + ProgramImage.NAME
              + "', command: [id]}]}");
      Later.is(() -> assertThat(others.phase("plain")).isEqualTo("Succeeded"));
      others.delete("plain");
      Later.is(() ->
          assertThat(
                  cluster.kubectlPrints(
                      "get",
                      "job",
                      "running",
                      "-n",
                      "team",
                      "-o",
                      "jsonpath={.status.conditions[?(@.type==\"Complete\")].status}"))
              .as("its pods' finalizers are removed without the webhook")
              .isEqualTo("True"));
    } finally {
      cluster.kubectlPrints(
          "scale", "deployment/gpupool-controller", "-n", Installation.NAMESPACE, "--replicas=2");
      gpupool.awaitReady();
    }
  }

  @Test
  @Order(14)
  void uninstall_leavesNothingInClusterAndOnNode() throws IOException {
    assertThat(gpupool.remains()).hasSizeGreaterThan(20);
    gpupool.uninstall();
    // A pod has half a minute to end, and a kubelet on a busy machine takes as long again to say
    // so.
    Later.within(Duration.ofMinutes(3), () -> assertThat(gpupool.remains()).isEmpty());
    Later.is(() -> assertThat(gpupool.offered()).as("hundredths of GPUs on the node").isZero());
  }
}
