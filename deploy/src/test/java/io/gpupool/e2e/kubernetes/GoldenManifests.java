// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e.kubernetes;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
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

  private static final String GATES = "gates";
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
          "CronJob", "/apis/batch/v1/namespaces/%s/cronjobs");

  private final Cluster cluster;

  GoldenManifests(Cluster cluster) {
    this.cluster = cluster;
  }

  /** A case, as its file has it. */
  private record Case(String name, JsonNode given, JsonNode expected) {
    boolean isUpdate() {
      return given.has("oldObject");
    }
  }

  Outcome tryAll(String namespace) throws IOException {
    List<Case> cases = cases();
    List<String> wrong = new ArrayList<>();
    try (GoldenUpdates updates = new GoldenUpdates(cluster)) {
      cases.removeIf(one -> one.isUpdate() && !updates.prepare(one.given()));
      updates.begin();
      for (Case one : cases) {
        String fault = one.isUpdate() ? updated(updates, one) : created(namespace, one);
        if (!fault.isEmpty()) {
          wrong.add(one.name() + ": " + fault);
        }
      }
    }
    return new Outcome(cases.size(), wrong);
  }

  private static List<Case> cases() throws IOException {
    List<Case> cases = new ArrayList<>();
    try (Stream<Path> files = Files.list(FOLDER)) {
      for (Path file : files.sorted().toList()) {
        String[] documents = Files.readString(file).split("(?m)^---$");
        JsonNode given = YAML.unmarshal("---\n" + documents[0], JsonNode.class);
        JsonNode expected =
            documents.length > 1
                ? YAML.unmarshal("---\n" + documents[1], JsonNode.class)
                : JSON.createObjectNode();
        // Only ManifestTest covers clusters without gates; the webhook sees no Services.
        if (!given.has(GATES) && PATHS.containsKey(kind(given))) {
          cases.add(new Case(file.getFileName().toString(), given, expected));
        }
      }
    }
    return cases;
  }

  private static String kind(JsonNode given) {
    return given.path("object").path("kind").asText();
  }

  /** What is not as it should be. */
  private String created(String namespace, Case one) throws IOException {
    JsonNode object = one.given().path("object");
    String path = PATHS.get(object.path("kind").asText()).formatted(namespace) + "?dryRun=All";
    try {
      return taken(one, JSON.readTree(cluster.client().raw(path, "POST", object)));
    } catch (KubernetesClientException e) {
      // What is no object at all is refused before it comes to the webhook; numbers are spelled
      // anew before.
      boolean webhook = e.getMessage().contains("denied the request");
      return isRefused(one) && (!webhook || e.getCode() == one.expected().path("code").asInt())
          ? ""
          : e.getMessage();
    }
  }

  private static String updated(GoldenUpdates updates, Case one) throws IOException {
    Shell.Ended ended = updates.dryRun(one.given());
    if (ended.status() == 0) {
      return taken(one, GoldenUpdates.read(ended.output()));
    }
    return isRefused(one) ? "" : ended.errors();
  }

  private static boolean isRefused(Case one) {
    return one.expected().has("code");
  }

  private static String taken(Case one, JsonNode made) {
    return isRefused(one)
        ? "taken, and is to be refused: " + one.expected().path("message")
        : missing("", one.expected().path("object"), made);
  }

  /** What of the one is not in the other, which has besides what the API server adds. */
  private static String missing(String at, JsonNode expected, JsonNode made) {
    if (expected.isObject()) {
      for (Map.Entry<String, JsonNode> field : expected.properties()) {
        String fault =
            missing(at + "/" + field.getKey(), field.getValue(), made.path(field.getKey()));
        if (!fault.isEmpty()) {
          return fault;
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
}
