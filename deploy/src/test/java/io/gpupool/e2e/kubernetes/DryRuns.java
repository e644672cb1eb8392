// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.utils.KubernetesSerialization;
import io.gpupool.deploy.chart.Chart;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/** Shows manifests to an API server that is to check them, and to keep nothing. */
final class DryRuns {
  private static final KubernetesSerialization YAML = new KubernetesSerialization();
  private static final Path EXAMPLES = Cluster.DEPLOY.resolve("examples/kubernetes");
  private static final Path KINDS =
      Cluster.DEPLOY.resolve("src/test/resources/io/gpupool/e2e/kubernetes/custom-resources.yaml");

  private final Cluster cluster;
  private final String namespace;

  /** In a cluster, which gets the kinds that manifests have from other projects. */
  DryRuns(Cluster cluster, String namespace) {
    this.cluster = cluster;
    this.namespace = namespace;
    makeKinds(cluster);
  }

  /** Gives a cluster the kinds that manifests have from other projects. */
  static void makeKinds(Cluster cluster) {
    cluster.kubectlPrints("apply", "-f", KINDS);
    cluster.kubectlPrints("wait", "--for=condition=Established", "--timeout=30s", "-f", KINDS);
  }

  /** Tries all examples, and the pods that operators make of them. */
  List<Pod> examples() throws IOException {
    List<Pod> pods = new ArrayList<>();
    try (Stream<Path> files = Files.list(EXAMPLES)) {
      for (Path file : files.sorted().toList()) {
        String text = Files.readString(file);
        List<String> documents = Arrays.asList(text.split("(?m)^---$"));
        if (text.contains("kind: Namespace")) {
          // What is in it can be shown once it is there.
          cluster.kubectlPrints("apply", "-f", file);
          show(documents);
        } else {
          show(documents, "-n", namespace);
        }
        for (String document : documents) {
          pods.addAll(podsOfOperators(YAML.unmarshal(document, JsonNode.class)));
        }
      }
    }
    return pods;
  }

  /** Tries the chart with values, beside the release that is there. */
  void chart(String values) throws IOException {
    show(Chart.of("1.34.0").values(values).set("fullnameOverride", "other").documents());
  }

  /** Has the API server check them, those of other projects' kinds by what it knows of these. */
  private void show(List<String> documents, String... options) throws IOException {
    if (documents.isEmpty()) {
      return;
    }
    Path file = Files.createTempFile("manifests", ".yaml");
    try {
      Files.writeString(file, "---\n" + String.join("\n---\n", documents));
      List<Object> line = new ArrayList<>(List.of("apply", "--dry-run=server", "-f", file));
      line.addAll(Arrays.asList(options));
      assertThat(cluster.kubectlPrints(line.toArray()).lines())
          .hasSize(documents.size())
          .allSatisfy(text -> assertThat(text).endsWith(" (server dry run)"));
    } finally {
      Files.delete(file);
    }
  }

  private List<Pod> podsOfOperators(JsonNode object) {
    List<Pod> pods = new ArrayList<>();
    if (object.path("apiVersion").asText().startsWith("kubeflow.org/")) {
      for (JsonNode template : object.findValues("template")) {
        ObjectNode pod = template.deepCopy();
        pod.put("apiVersion", "v1").put("kind", "Pod");
        pod.withObject("/metadata").put("generateName", "worker-");
        pods.add(
            cluster
                .client()
                .pods()
                .inNamespace(namespace)
                .resource(YAML.convertValue(pod, Pod.class))
                .dryRun()
                .create());
      }
    }
    return pods;
  }
}
