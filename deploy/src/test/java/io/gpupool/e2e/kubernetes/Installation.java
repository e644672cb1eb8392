// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonElement;
import com.google.gson.JsonParser;
import com.marcnuri.helm.Helm;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Quantity;
import io.gpupool.deploy.chart.Chart;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * A release of the chart in a cluster, from this build's image, as Helm makes, changes and removes
 * it.
 */
final class Installation {
  static final String NAMESPACE = "gpupool-system";
  private static final String ETCD = "http://10.85.0.1:22379";
  private static final String RELEASE = "gpupool";
  private static final String IMAGE = "localhost/gpupool:test";
  private static final String PARTITION = "gpupool-server-0/0/dra";
  private static final String PLUGINS = "/var/lib/kubelet/plugins_registry";
  private static final Duration START = Duration.ofMinutes(4);

  private static final String KINDS =
      "pods,deployments,daemonsets,statefulsets,services,secrets,configmaps,serviceaccounts,roles,"
          + "rolebindings,leases,poddisruptionbudgets,clusterroles,clusterrolebindings,"
          + "mutatingwebhookconfigurations,deviceclasses,resourceslices";

  private final Cluster cluster;
  private final Path before;
  private final Path values;
  private boolean installed;

  private Installation(Cluster cluster, Path before, Path values) {
    this.cluster = cluster;
    this.before = before;
    this.values = values;
  }

  /**
   * Installs as docs/how-to/kubernetes.md says.
   *
   * @param moreValues of the chart, in YAML: those of its servers, or of a pool elsewhere
   */
  static Installation install(Cluster cluster, Path folder, String moreValues) throws IOException {
    Path image = folder.resolve("gpupool.tar");
    Shell.Ended made =
        Shell.run(START, Cluster.DEPLOY.resolve("build/container-image"), image, "--name", IMAGE);
    assertThat(made.status()).as("%s", made).isZero();
    cluster.load(image);
    Path state = Files.createDirectories(folder.resolve("state"));
    Files.setPosixFilePermissions(state, PosixFilePermissions.fromString("rwxrwxrwx"));
    Path before = folder.resolve("before.yaml");
    Files.writeString(before, BEFORE.formatted(NAMESPACE, state));
    Path values = Files.writeString(folder.resolve("values.yaml"), VALUES + moreValues);
    Installation installation = new Installation(cluster, before, values);
    installation.install();
    return installation;
  }

  /** Makes the release, at first or again. */
  void install() {
    // A volume that was once claimed is not given to another claim.
    cluster.kubectlPrints("delete", "persistentvolume", "state", "--ignore-not-found");
    cluster.kubectlPrints("apply", "-f", before);
    new Helm(Chart.FOLDER)
        .install()
        .withName(RELEASE)
        .withNamespace(NAMESPACE)
        .withKubeConfig(cluster.kubeconfig())
        .withValuesFile(values)
        .call();
    installed = true;
    awaitReady();
  }

  boolean isInstalled() {
    return installed;
  }

  /** Upgrades it with another value, and waits until all runs with it. */
  void upgrade(String value, String setting) {
    new Helm(Chart.FOLDER)
        .upgrade()
        .withName(RELEASE)
        .withNamespace(NAMESPACE)
        .withKubeConfig(cluster.kubeconfig())
        .reuseValues()
        .set(value, setting)
        .call();
    for (String object : List.of("deployment/gpupool-controller", "daemonset/gpupool-node")) {
      cluster.kubectlPrints("rollout", "status", object, "-n", NAMESPACE, "--timeout=150s");
    }
  }

  void uninstall() {
    installed = false;
    Helm.uninstall(RELEASE).withNamespace(NAMESPACE).withKubeConfig(cluster.kubeconfig()).call();
  }

  /** What is there of it, in the cluster and on the node. */
  List<String> remains() throws IOException {
    List<String> remains =
        new ArrayList<>(
            cluster
                .kubectlPrints(
                    "get",
                    KINDS,
                    "-A",
                    "-l",
                    "app.kubernetes.io/instance=gpupool",
                    "-o",
                    "jsonpath={range .items[*]}{.kind}/{.metadata.name}{\"\\n\"}{end}")
                .lines()
                .toList());
    for (String folder :
        List.of("/run/gpupool", "/var/run/cdi", "/var/lib/kubelet/plugins", PLUGINS)) {
      Path onNode = Cluster.ofNode(Cluster.NODE, folder);
      if (Files.isDirectory(onNode)) {
        try (Stream<Path> files = Files.list(onNode)) {
          files.map(Path::toString).filter(file -> file.contains("gpupool")).forEach(remains::add);
        }
      }
    }
    return remains;
  }

  private static final String VALUES =
      """
      image: {repository: localhost/gpupool, tag: test}
      controller: {replicas: 2}
      """;

  /** Values of a server with one GPU in software; lines with two spaces in front may follow. */
  static final String ONE_SERVER =
      """
      server:
        gpus: {kind: soft, memory: 80Gi}
        drainLimit: 1s
        terminationGracePeriodSeconds: 10
      """;

  /**
   * Values of two servers, one on each node, that share an etcd, which this starts.
   *
   * @param folder for the etcd's data
   */
  static String twoServers(Cluster cluster, Path folder) {
    cluster.startOnNode(
        Cluster.NODE,
        folder.resolve("etcd.log"),
        "exec etcd --data-dir %s --listen-client-urls %s --advertise-client-urls %s"
                .formatted(folder.resolve("etcd"), ETCD, ETCD)
            + " --listen-peer-urls http://127.0.0.1:22380"
            + " --initial-advertise-peer-urls http://127.0.0.1:22380"
            + " --initial-cluster default=http://127.0.0.1:22380");
    return ONE_SERVER
            .replace("drainLimit: 1s", "drainLimit: 45s")
            .replace("PeriodSeconds: 10", "PeriodSeconds: 60")
        + "  replicas: 2\n"
        + "  persistence: {enabled: false}\n"
        + "  etcd: {endpoints: ['10.85.0.1:22379']}\n"
        + "  affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution:"
        + " [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels:"
        + " {app.kubernetes.io/component: server}}}]}}\n";
  }

  private static final String BEFORE =
      """
      apiVersion: v1
      kind: Namespace
      metadata:
        name: %s
        labels: {gpupool.io/admission: ignore}
      ---
      apiVersion: v1
      kind: PersistentVolume
      metadata: {name: state}
      spec:
        capacity: {storage: 1Gi}
        accessModes: [ReadWriteOnce]
        hostPath: {path: %s}
      """;

  /** Ends the first server's pod at once, as when its machine is lost. */
  void killServer() {
    cluster.kubectlPrints(
        "delete", "pod", "gpupool-server-0", "-n", NAMESPACE, "--grace-period=0", "--force");
  }

  void awaitReady() {
    for (String object : objects()) {
      Later.within(
          START,
          () -> {
            String[] counts =
                cluster
                    .kubectlPrints("get", object, "-n", NAMESPACE, "-o", readyOf(object))
                    .split("/", 2);
            assertThat(counts[0]).as(object).isNotEmpty().isEqualTo(counts[1]);
          });
    }
  }

  /** There are no servers where the pool is elsewhere. */
  private List<String> objects() {
    return cluster
        .kubectlPrints("get", "deployments,statefulsets,daemonsets", "-n", NAMESPACE, "-o", "name")
        .lines()
        .toList();
  }

  private static String readyOf(String object) {
    return object.startsWith("daemonset")
        ? "jsonpath={.status.numberReady}/{.status.desiredNumberScheduled}"
        : "jsonpath={.status.readyReplicas}/{.spec.replicas}";
  }

  /** What an object keeps unless another one takes its place. */
  String uid(String object) {
    return cluster.kubectlPrints("get", object, "-n", NAMESPACE, "-o", "jsonpath={.metadata.uid}");
  }

  /** How many hundredths of GPUs the node has for pods. */
  int offered() {
    Quantity quantity =
        cluster
            .client()
            .nodes()
            .withName(Cluster.NODE)
            .get()
            .getStatus()
            .getAllocatable()
            .get("gpupool.io/gpu-percent");
    return quantity == null ? 0 : Integer.parseInt(quantity.getAmount());
  }

  /** The ids of all leases of the pool. */
  List<String> leases() {
    List<String> ids = new ArrayList<>();
    JsonParser.parseString(inController("gpupool", "lease", "list", "--output", "json"))
        .getAsJsonArray()
        .forEach(lease -> ids.add(id(lease)));
    return ids;
  }

  private static String id(JsonElement lease) {
    return lease.getAsJsonObject().get("id").getAsString();
  }

  /** Cuts a part of the pool's first GPU that is for claims alone. */
  void makePartition(String memory, int compute) {
    inController("gpupool", "tenant", "create", "claims");
    inController(
        "gpupool",
        "partition",
        "create",
        PARTITION,
        "-m",
        memory,
        "--compute",
        compute,
        "--for",
        "claims");
  }

  void deletePartition() {
    inController("gpupool", "partition", "delete", PARTITION);
  }

  /** Kills the elected controller, which has no time to say so. */
  void killLeader() {
    String leader =
        cluster
            .client()
            .leases()
            .inNamespace(NAMESPACE)
            .withName("gpupool-controller")
            .get()
            .getSpec()
            .getHolderIdentity();
    kill(pod -> leader.startsWith(pod.getMetadata().getName()));
  }

  void killNodeAgent(String node) {
    kill(pod -> isNodeAgent(pod) && node.equals(pod.getSpec().getNodeName()));
  }

  private static boolean isNodeAgent(Pod pod) {
    return pod.getMetadata().getName().startsWith("gpupool-node-");
  }

  /** Waits until the agents of all nodes, which have been killed, are ready again. */
  void awaitNodeAgentsRestarted() {
    Later.within(
        Duration.ofMinutes(3),
        () ->
            assertThat(cluster.client().pods().inNamespace(NAMESPACE).list().getItems())
                .filteredOn(Installation::isNodeAgent)
                .flatExtracting(pod -> pod.getStatus().getContainerStatuses())
                .allSatisfy(agent -> {
                  assertThat(agent.getRestartCount()).isPositive();
                  assertThat(agent.getReady()).isTrue();
                }));
  }

  /**
   * Kills the programs of those of the release's pods; nodes have the processes of this machine.
   */
  private void kill(Predicate<Pod> which) {
    List<Pod> pods =
        cluster.client().pods().inNamespace(NAMESPACE).list().getItems().stream()
            .filter(which)
            .toList();
    assertThat(pods).hasSize(1);
    String uid = pods.getFirst().getMetadata().getUid();
    long killed =
        ProcessHandle.allProcesses()
            .filter(process -> isOf(process.pid(), uid))
            .filter(ProcessHandle::destroyForcibly)
            .count();
    assertThat(killed).as("processes of %s", uid).isPositive();
  }

  private static boolean isOf(long pid, String podUid) {
    try {
      Path process = Path.of("/proc", Long.toString(pid));
      return Files.readString(process.resolve("cgroup")).contains("pod" + podUid)
          && Files.readString(process.resolve("cmdline")).contains("gpupool");
    } catch (IOException e) {
      // It has ended meanwhile.
      return false;
    }
  }

  String inController(Object... command) {
    List<Object> line =
        new ArrayList<>(List.of("exec", "-n", NAMESPACE, "deployment/gpupool-controller", "--"));
    line.addAll(List.of(command));
    return cluster.kubectlPrints(line.toArray());
  }
}
