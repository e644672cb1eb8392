// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e.kubernetes;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.utils.KubernetesSerialization;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * The webhook's golden cases, created in a dry run by a real API server, which validates what the
 * webhook has made of them. Its GPU has the memory that the cases are written for.
 */
final class GoldenManifests {
  /** What came of all cases. */
  record Outcome(int tried, List<String> wrong) {}

  private static final Path FOLDER =
      Cluster.ROOT.resolve("k8s-plugin/src/test/resources/manifests");
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final KubernetesSerialization YAML = new KubernetesSerialization();
  private static final Map<String, String> PATHS =
      Map.of(
          "Pod", "/api/v1/namespaces/%s/pods",
          "Deployment", "/apis/apps/v1/namespaces/%s/deployments",
          "ReplicaSet", "/apis/apps/v1/namespaces/%s/replicasets",
          "StatefulSet", "/apis/apps/v1/namespaces/%s/statefulsets",
          "DaemonSet", "/apis/apps/v1/namespaces/%s/daemonsets",
          "Job", "/apis/batch/v1/namespaces/%s/jobs",
          "CronJob", "/apis/batch/v1beta1/namespaces/%s/cronjobs");

  private final Cluster cluster;

  GoldenManifests(Cluster cluster) {
    this.cluster = cluster;
  }

  Outcome tryAll(String namespace) throws IOException {
    List<String> wrong = new ArrayList<>();
    int tried = 0;
    try (Stream<Path> files = Files.list(FOLDER)) {
      for (Path file : files.sorted().toList()) {
        String[] documents = Files.readString(file).split("(?m)^---$");
        JsonNode given = YAML.unmarshal("---\n" + documents[0], JsonNode.class);
        JsonNode expected =
            documents.length > 1
                ? YAML.unmarshal("---\n" + documents[1], JsonNode.class)
                : JSON.createObjectNode();
        // Updates need what was there before; a Service is none of the webhook's.
        if (!given.has("oldObject")
            && !NEWER.contains(file.getFileName().toString())
            && PATHS.containsKey(kind(given))) {
          tried++;
          String fault = fault(namespace, given.path("object"), expected);
          if (!fault.isEmpty()) {
            wrong.add(file.getFileName() + ": " + fault);
          }
        }
      }
    }
    return new Outcome(tried, wrong);
  }

  private static String kind(JsonNode given) {
    return given.path("object").path("kind").asText();
  }

  /** What is not as it should be. */
  private String fault(String namespace, JsonNode given, JsonNode expected) throws IOException {
    ObjectNode object = given.deepCopy();
    if (object.path("kind").asText().equals("CronJob")) {
      object.put("apiVersion", "batch/v1beta1");
    }
    String path = PATHS.get(object.path("kind").asText()).formatted(namespace) + "?dryRun=All";
    boolean refused = expected.has("code");
    try {
      JsonNode made = JSON.readTree(cluster.client().raw(path, "POST", object));
      return refused
          ? "taken, and is to be refused: " + expected.path("message")
          : missing("", expected.path("object"), made);
    } catch (KubernetesClientException e) {
      // What is no object at all is refused before it comes to the webhook; numbers are spelled
      // anew before.
      boolean webhook = e.getMessage().contains("denied the request");
      return refused && (!webhook || e.getCode() == expected.path("code").asInt())
          ? ""
          : e.getMessage();
    }
  }

  /** What of the one is not in the other, which has besides what the API server adds. */
  private static String missing(String at, JsonNode expected, JsonNode made) {
    if (expected.isObject()) {
      for (Map.Entry<String, JsonNode> field : expected.properties()) {
        if (!NOT_THERE.contains(field.getKey()) && !field.getKey().equals("apiVersion")) {
          String fault =
              missing(at + "/" + field.getKey(), field.getValue(), made.path(field.getKey()));
          if (!fault.isEmpty()) {
            return fault;
          }
        }
      }
      return "";
    }
    if (expected.isArray()) {
      // The API server puts some of its own between them.
      for (JsonNode element : expected) {
        boolean found = false;
        for (JsonNode other : made) {
          found |= missing(at, element, other).isEmpty();
        }
        if (!found) {
          return at + " has no " + element;
        }
      }
      return "";
    }
    return expected.asText().equals(made.asText()) ? "" : at + " is " + made + ", not " + expected;
  }

  /** Cases of fields and gates that Kubernetes 1.20 does not know, and drops. */
  private static final List<String> NEWER =
      List.of(
          "containers-init-and-sidecar.yaml",
          "refused-node-named.yaml",
          "refused-pod-level.yaml",
          "refused-windows.yaml");

  /** What Kubernetes 1.20 does not know. */
  private static final List<String> NOT_THERE = List.of("schedulingGates");
}
