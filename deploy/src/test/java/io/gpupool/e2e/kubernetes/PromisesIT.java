// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;

/** Promises of docs/how-to/kubernetes.md that {@link KubernetesIT} has no time for. */
class PromisesIT extends TwoNodes {
  private static final String OTHER = Cluster.OTHER_NODE;

  /** After which a leader that was killed has been followed by another, which makes leases. */
  private static final Duration NEXT_LEADER = Duration.ofSeconds(20);

  /** How long the API server is away; longer than a leader is one without it. */
  private static final Duration OUTAGE =
      Duration.ofSeconds(Integer.getInteger("gpupool.kubernetes.outage.seconds", 25));

  /** Programs that print every second may be late by this. */
  private static final Duration SILENCE = Duration.ofSeconds(20);

  @Test
  @Order(1)
  void podsOfBothNodes_inRestrictedNamespace_compute() {
    cluster.kubectlPrints(
        "label", "namespace", "team", "pod-security.kubernetes.io/enforce=restricted");
    try {
      for (String node : List.of(Cluster.NODE, Cluster.OTHER_NODE)) {
        String restricted =
            Pods.spec("0.25", pods.computes())
                .replaceFirst(
                    "\\{",
                    "{nodeSelector: {kubernetes.io/hostname: "
                        + node
                        + "}, securityContext: {runAsNonRoot: true, runAsUser: 12345,"
                        + " seccompProfile: {type: RuntimeDefault}}, ")
                .replace(
                    "resources:",
                    "securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem:"
                        + " true, capabilities: {drop: [ALL]}}, resources:");
        pods.make("on-" + node, restricted);
        pods.awaitComputed("on-" + node);
      }
    } finally {
      cluster.kubectlPrints("label", "namespace", "team", "pod-security.kubernetes.io/enforce-");
    }
  }

  @Test
  @Order(2)
  void priorityClass_withoutAnnotation_decidesWhoComesNext() {
    cluster.kubectlPrints("create", "priorityclass", "urgent", "--value=100000");
    pods.make("holder", Pods.spec("1", pods.computesAndStays()));
    pods.awaitStays("holder");
    pods.make("usual", Pods.spec("1", pods.computesAndStays()));
    pods.awaitQueued("usual");
    pods.make(
        "sooner",
        Pods.spec("1", pods.computes()).replaceFirst("\\{", "{priorityClassName: urgent, "));
    pods.awaitQueued("sooner");
    pods.delete("holder");
    pods.awaitComputed("sooner");
    pods.awaitStays("usual");
    Later.is(() ->
        assertThat(pods.lease("sooner"))
            .hasValueSatisfying(text -> assertThat(text).startsWith("Ended: ")));
  }

  @Test
  @Order(3)
  void rolloutRestart_andScaling_moveLeases() {
    Workloads workloads = new Workloads(pods);
    workloads.applyAll();
    for (String kind : List.of("deployment", "statefulset", "daemonset")) {
      cluster.kubectlPrints("rollout", "status", kind + "/" + kind, "-n", "team", "--timeout=90s");
      cluster.kubectlPrints("rollout", "restart", kind + "/" + kind, "-n", "team");
      cluster.kubectlPrints("rollout", "status", kind + "/" + kind, "-n", "team", "--timeout=90s");
    }
    cluster.kubectlPrints("scale", "deployment/deployment", "-n", "team", "--replicas=3");
    cluster.kubectlPrints(
        "rollout", "status", "deployment/deployment", "-n", "team", "--timeout=90s");
    // Three of the Deployment, one each of StatefulSet and Job, and one on each node.
    Later.is(() -> assertThat(gpupool.leases()).hasSize(3 + 2 + 2));
    cluster.kubectlPrints("scale", "deployment/deployment", "-n", "team", "--replicas=1");
    Later.is(() -> assertThat(gpupool.leases()).hasSize(1 + 2 + 2));
  }

  @Test
  @Order(4)
  void forgedAnnotations_areReplacedOrRefused() {
    pods.apply(
        "{apiVersion: v1, kind: Pod, metadata: {name: forger, annotations: {gpupool.io/request:"
            + " '{\"containers\":{\"main\":{\"gpus\":8,\"fraction\":1}}}'}}, spec: "
            + Pods.spec("0.1", pods.computesAndStays())
            + "}");
    pods.awaitStays("forger");
    assertThat(pods.get("forger").getMetadata().getAnnotations())
        .containsEntry(
            "gpupool.io/request", "{\"containers\":{\"main\":{\"gpus\":1,\"fraction\":0.1}}}");
    String lease = pods.leaseId("forger");
    cluster.kubectlPrints(
        "annotate",
        "pod",
        "forger",
        "-n",
        "team",
        "--overwrite",
        "gpupool.io/leases={\"main\":\"L999\"}");
    Later.is(() -> assertThat(pods.leaseId("forger")).isEqualTo(lease));
  }

  @Test
  @Order(5)
  void leader_killed_isFollowedByAnotherThatMakesLeasesSoon() {
    pods.make("long", Pods.spec("0.5", pods.computesOnAndOn()));
    pods.awaitComputing("long");
    String lease = pods.leaseId("long");
    gpupool.killLeader();
    // A request that the killed process was answering fails, and is made again.
    Later.is(() -> pods.make("next", Pods.spec("0.25", pods.computes())));
    Later.within(
        NEXT_LEADER,
        () ->
            assertThat(pods.get("next").getMetadata().getAnnotations())
                .containsKey("gpupool.io/leases"));
    pods.awaitComputed("next");
    pods.awaitComputing("long");
    assertThat(pods.leaseId("long")).isEqualTo(lease);
  }

  @Test
  @Order(6)
  void nodeAgent_killed_disturbsNoProgram() {
    pods.make("long", Pods.spec("0.5", pods.computesOnAndOn()));
    pods.awaitComputing("long");
    for (String node : List.of(Cluster.NODE, Cluster.OTHER_NODE)) {
      gpupool.killNodeAgent(node);
    }
    pods.awaitComputing("long");
    // A kubelet refuses pods that come while the device plugin is away.
    gpupool.awaitNodeAgentsRestarted();
    pods.make("next", Pods.spec("0.25", pods.computes()));
    pods.awaitComputed("next");
    pods.awaitComputing("long");
    assertThat(pods.get("long").getStatus().getContainerStatuses().getFirst().getRestartCount())
        .isZero();
  }

  @Test
  @Order(7)
  void certificates_madeAnewByThePatchOfTheDocs_areFollowedByAll() {
    cluster.kubectlPrints(
        "-n",
        Installation.NAMESPACE,
        "patch",
        "secret",
        "gpupool-ca",
        "--type=json",
        "-p",
        "[{\"op\": \"remove\", \"path\": \"/data\"}]");
    Later.within(
        Duration.ofMinutes(3),
        () -> {
          Shell.Ended made =
              pods.applying(
                  "{apiVersion: v1, kind: Pod, metadata: {name: after}, spec: "
                      + Pods.spec("0.25", pods.computes())
                      + "}");
          assertThat(made.status()).as("%s", made).isZero();
        });
    Later.within(
        Duration.ofMinutes(3), () -> assertThat(pods.log("after")).contains("vector_add: OK"));
  }

  @Test
  @Order(8)
  void drainedNode_givesItsPodsToTheOther() {
    pods.make("stays", Pods.spec("0.1", pods.computesAndStays()));
    pods.awaitStays("stays");
    pods.makeDeployment("moving", 3, Pods.spec("0.1", pods.computesAndStays()));
    cluster.kubectlPrints("rollout", "status", "deployment/moving", "-n", "team", "--timeout=90s");
    cluster.kubectlPrints(
        "drain",
        Cluster.OTHER_NODE,
        "--ignore-daemonsets",
        "--delete-emptydir-data",
        "--force",
        "--pod-selector=app=moving",
        "--timeout=90s");
    try {
      cluster.kubectlPrints(
          "rollout", "status", "deployment/moving", "-n", "team", "--timeout=90s");
      Later.is(() -> assertThat(gpupool.leases()).hasSizeBetween(3, 4));
    } finally {
      cluster.kubectlPrints("uncordon", Cluster.OTHER_NODE);
    }
  }

  @Test
  @Order(9)
  void upgradeAndKubeletRestart_leaveLeasesAndRunningProgramsAlone() {
    pods.make("long", Pods.spec("0.5", pods.computesOnAndOn()));
    pods.awaitComputing("long");
    String lease = pods.leaseId("long");
    String server = gpupool.uid("pod/gpupool-server-0");
    gpupool.upgrade("dra.enabled", "true");
    assertThat(gpupool.uid("pod/gpupool-server-0"))
        .as("servers are not replaced")
        .isEqualTo(server);
    Later.is(() -> assertThat(gpupool.offered()).isEqualTo(100));
    cluster.restartKubelet();
    Later.is(() -> assertThat(gpupool.offered()).isEqualTo(100));
    // Of a job: for a moment, a pod may come to a kubelet that does not know the plugin again.
    pods.apply(
        "{apiVersion: batch/v1, kind: Job, metadata: {name: new}, spec: {template: {spec: "
            + Pods.spec("0.5", pods.computes())
            + "}}}");
    Later.is(() -> assertThat(pods.succeeded("new")).as("succeeded").isEqualTo("1"));
    pods.awaitComputing("long");
    assertThat(pods.longestSilence("long")).isLessThan(SILENCE);
    assertThat(pods.leaseId("long")).isEqualTo(lease);
  }

  @Test
  @Order(10)
  void apiServer_away_neitherDisturbsProgramsNorKeepsLeasesOfEndedPods()
      throws InterruptedException {
    pods.make("long", Pods.spec("0.5", pods.computesOnAndOn()));
    pods.make("deleted", Pods.spec("0.25", pods.computesAndStays()));
    pods.make("ending", Pods.spec("0.25", pods.computes() + " && echo stays && exec sleep 25"));
    pods.awaitComputing("long");
    pods.awaitStays("deleted");
    pods.awaitStays("ending");
    pods.make("next", Pods.spec("1", pods.computes()));
    pods.awaitQueued("next");
    String lease = pods.leaseId("long");
    cluster.kubectlPrints("delete", "pod", "deleted", "-n", "team", "--wait=false");
    cluster.hangApiServer();
    Thread.sleep(OUTAGE.dividedBy(2));
    cluster.killApiServer();
    Thread.sleep(OUTAGE.dividedBy(2));
    cluster.startApiServer();
    Later.within(Duration.ofMinutes(2), () -> assertThat(gpupool.leases()).containsExactly(lease));
    pods.awaitComputing("long");
    assertThat(pods.longestSilence("long")).isLessThan(SILENCE);
    assertThat(pods.leaseId("long")).isEqualTo(lease);
    pods.delete("long");
    pods.awaitComputed("next");
  }

  @Test
  @Order(11)
  void slices_apiServerLearnsTheirFields_areWrittenAnew() {
    gpupool.upgrade("dra.enabled", "true");
    gpupool.makePartition("20Gi", 25);
    Later.is(() -> assertThat(slices("kind")).contains("ResourceSlice"));
    assertThat(slices("spec.devices[*].allowMultipleAllocations")).isEmpty();
    cluster.restartApiServer("--feature-gates=DRAConsumableCapacity=true");
    Later.within(
        Duration.ofMinutes(3),
        () -> assertThat(slices("spec.devices[*].allowMultipleAllocations")).isEqualTo("true"));
    gpupool.deletePartition();
  }

  @Test
  @Order(12)
  void reinstall_podStartedAnewMeanwhile_mendsTheNode() throws IOException {
    String crashing = Pods.spec("0.1", "sleep 2; exit 1").replace("Never", "Always");
    pods.make("crashing", crashing);
    Later.is(() -> assertThat(pods.phase("crashing")).isEqualTo("Running"));
    String node = pods.get("crashing").getSpec().getNodeName();
    gpupool.uninstall();
    Path inTheWay = Cluster.ofNode(node, "/run/gpupool/shim/libcuda.so.1");
    Later.within(
        Duration.ofMinutes(2),
        () -> assertThat(inTheWay).as("made by the container runtime").isEmptyDirectory());
    gpupool.install();
    assertThat(inTheWay).isRegularFile();
    pods.make("again", Pods.spec("0.5", pods.computes()));
    pods.awaitComputed("again");
  }

  @Test
  @Order(13)
  void failedPod_whoseServerHasDied_showsNoLeaseAnyMore() {
    pods.make("lost", Pods.spec("0.5", pods.computesOnAndOn()));
    pods.awaitComputing("lost");
    gpupool.killServer();
    Later.within(
        Duration.ofMinutes(2), () -> assertThat(pods.phase("lost")).isNotEqualTo("Running"));
    Later.within(
        Duration.ofMinutes(2),
        () ->
            assertThat(pods.lease("lost"))
                .hasValueSatisfying(text -> assertThat(text).startsWith("Ended: ")));
    gpupool.awaitReady();
  }

  /** As the node comes back from a restart: nothing runs, and folders in memory are empty. */
  @Test
  @Order(14)
  void nodeRestarted_podsOfItsDeployments_computeAgain() throws IOException {
    String onOther =
        Pods.spec("0.25", pods.computesAndStays())
            .replaceFirst("\\{", "{nodeSelector: {kubernetes.io/hostname: " + OTHER + "}, ");
    pods.makeDeployment("server", 2, onOther);
    cluster.kubectlPrints("rollout", "status", "deployment/server", "-n", "team", "--timeout=90s");
    cluster.killKubelet(OTHER);
    cluster.killPods(OTHER);
    for (String folder : List.of("/run/gpupool", "/var/run/cdi")) {
      deleteFilesIn(Cluster.ofNode(OTHER, folder));
    }
    cluster.restartKubelet(OTHER);
    Later.within(
        Duration.ofMinutes(4),
        () -> {
          assertThat(computing("server")).isEqualTo(2);
          assertThat(gpupool.leases()).hasSize(2);
        });
  }

  /** How many ready pods of a Deployment have computed. */
  private static long computing(String deployment) {
    return cluster
        .client()
        .pods()
        .inNamespace("team")
        .withLabel("app", deployment)
        .list()
        .getItems()
        .stream()
        .filter(pod -> pod.getStatus().getPhase().equals("Running"))
        .filter(pod -> pods.log(pod.getMetadata().getName()).contains("stays"))
        .count();
  }

  private static void deleteFilesIn(Path folder) throws IOException {
    if (Files.isDirectory(folder)) {
      try (Stream<Path> files = Files.walk(folder)) {
        for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
          if (!file.equals(folder)) {
            Files.delete(file);
          }
        }
      }
    }
  }

  private static String slices(String path) {
    return cluster.kubectlPrints(
        "get", "resourceslices", "-o", "jsonpath={.items[*]." + path + "}");
  }
}
