// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonElement;
import com.google.gson.JsonParser;
import com.marcnuri.helm.Helm;
import io.fabric8.kubernetes.api.model.Quantity;
import io.gpupool.deploy.chart.Chart;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * A release of the chart in a cluster, from this build's image, as Helm makes, changes and removes
 * it.
 */
final class Installation {
  static final String NAMESPACE = "gpupool-system";
  private static final String RELEASE = "gpupool";
  private static final String IMAGE = "localhost/gpupool:test";
  private static final Duration START = Duration.ofMinutes(4);

  private static final String KINDS =
      "pods,deployments,daemonsets,statefulsets,services,secrets,configmaps,serviceaccounts,roles,"
          + "rolebindings,leases,poddisruptionbudgets,clusterroles,clusterrolebindings,"
          + "mutatingwebhookconfigurations";

  /** On the node, which is this machine. */
  private static final Path ON_NODE = Path.of("/run/gpupool");

  private final Cluster cluster;
  private boolean installed = true;

  private Installation(Cluster cluster) {
    this.cluster = cluster;
  }

  /** As docs/kubernetes.md says for such an old cluster, with one GPU in software. */
  static Installation install(Cluster cluster, Path folder) throws IOException {
    Path image = folder.resolve("gpupool.tar");
    Shell.Ended made =
        Shell.run(START, Cluster.DEPLOY.resolve("build/container-image"), image, "--name", IMAGE);
    assertThat(made.status()).as("%s", made).isZero();
    cluster.load(image);
    Path state = Files.createDirectories(folder.resolve("state"));
    Files.setPosixFilePermissions(state, PosixFilePermissions.fromString("rwxrwxrwx"));
    Path before = folder.resolve("before.yaml");
    Files.writeString(before, BEFORE.formatted(NAMESPACE, state));
    Path values = Files.writeString(folder.resolve("values.yaml"), VALUES);
    cluster.kubectlPrints("label", "namespace", "kube-system", "gpupool.io/admission=ignore");
    cluster.kubectlPrints("apply", "-f", before);
    new Helm(Chart.FOLDER)
        .install()
        .withName(RELEASE)
        .withNamespace(NAMESPACE)
        .withKubeConfig(cluster.kubeconfig())
        .withValuesFile(values)
        .call();
    Installation installation = new Installation(cluster);
    installation.awaitReady();
    return installation;
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
    if (Files.isDirectory(ON_NODE)) {
      try (Stream<Path> files = Files.list(ON_NODE)) {
        files.map(Path::toString).forEach(remains::add);
      }
    }
    return remains;
  }

  private static final String VALUES =
      """
      image: {repository: localhost/gpupool, tag: test}
      controller: {replicas: 2}
      server:
        gpus: {kind: soft, memory: 80Gi}
        drainLimit: 1s
        terminationGracePeriodSeconds: 10
      """;

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

  void awaitReady() {
    for (String object :
        List.of(
            "deployment/gpupool-controller",
            "statefulset/gpupool-server",
            "daemonset/gpupool-node")) {
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
            .withName("node-1")
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

  String inController(Object... command) {
    List<Object> line =
        new ArrayList<>(List.of("exec", "-n", NAMESPACE, "deployment/gpupool-controller", "--"));
    line.addAll(List.of(command));
    return cluster.kubectlPrints(line.toArray());
  }
}
