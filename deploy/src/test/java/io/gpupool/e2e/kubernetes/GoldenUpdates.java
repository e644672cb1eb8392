// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;

/**
 * The objects that the webhook's golden updates begin with, each in a namespace of its own, where
 * the webhook does not see how they are made. Deleted when this is closed.
 */
final class GoldenUpdates implements AutoCloseable {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String LABEL = "gpupool.io/golden";

  private final Cluster cluster;
  private final Map<JsonNode, String> namespaces = new HashMap<>();

  GoldenUpdates(Cluster cluster) {
    this.cluster = cluster;
  }

  /**
   * Makes what is there before an update.
   *
   * @return whether an API server holds such objects at all, which it does not with parts of GPUs
   */
  boolean prepare(JsonNode update) {
    String namespace = "golden-" + namespaces.size();
    cluster.kubectlPrints("create", "namespace", namespace);
    cluster.kubectlPrints(
        "label", "namespace", namespace, LABEL + "=update", "gpupool.io/admission=ignore");
    ObjectNode old = update.path("oldObject").deepCopy();
    // Nothing has to run.
    switch (old.path("kind").asText()) {
      case "Deployment" -> old.withObject("/spec").put("replicas", 0);
      case "Job" -> old.withObject("/spec").put("suspend", true);
      default -> {}
    }
    Pods pods = new Pods(cluster, namespace, List.of());
    // A pod needs its namespace's service account, which comes a moment later.
    AtomicReference<Shell.Ended> made = new AtomicReference<>();
    Later.is(() -> {
      made.set(pods.applying(old.toString()));
      assertThat(made.get()).matches(ended -> ended.status() == 0 || isInvalid(ended));
    });
    namespaces.put(update, namespace);
    return made.get().status() == 0;
  }

  private static boolean isInvalid(Shell.Ended ended) {
    return ended.errors().contains("must be an integer");
  }

  /** Has the webhook see all of them from now on. */
  void begin() {
    cluster.kubectlPrints("label", "namespace", "-l", LABEL, "gpupool.io/admission-");
  }

  /** Tries an update in a dry run, which prints the object as JSON, or fails. */
  Shell.Ended dryRun(JsonNode update) {
    JsonNode object = update.path("object");
    return cluster.kubectl(
        "patch",
        object.path("kind").asText().toLowerCase(Locale.ROOT),
        object.path("metadata").path("name").asText(),
        "-n",
        namespaces.get(update),
        "--type=strategic",
        "--dry-run=server",
        "-o",
        "json",
        "-p",
        difference(update.path("oldObject"), object).toString());
  }

  static JsonNode read(String json) throws IOException {
    return JSON.readTree(json);
  }

  /** The strategic merge patch from one object to the other. */
  private static ObjectNode difference(JsonNode old, JsonNode now) {
    ObjectNode patch = JSON.createObjectNode();
    old.fieldNames()
        .forEachRemaining(field -> {
          if (!now.has(field)) {
            patch.putNull(field);
          }
        });
    now.properties()
        .forEach(entry -> {
          JsonNode before = old.path(entry.getKey());
          JsonNode after = entry.getValue();
          if (before.equals(after)) {
            return;
          }
          if (before.isObject() && after.isObject()) {
            patch.set(entry.getKey(), difference(before, after));
          } else if (before.path(0).has("name") && after.path(0).has("name")) {
            patch.set(entry.getKey(), elements(before, after));
          } else {
            patch.set(entry.getKey(), after);
          }
        });
    return patch;
  }

  /** Of lists whose elements have names. */
  private static ArrayNode elements(JsonNode old, JsonNode now) {
    ArrayNode patch = JSON.createArrayNode();
    Map<String, JsonNode> before = byName(old);
    Map<String, JsonNode> after = byName(now);
    after.forEach((name, element) ->
        patch.add(
            before.containsKey(name)
                ? difference(before.get(name), element).put("name", name)
                : element));
    before.keySet().stream()
        .filter(name -> !after.containsKey(name))
        .forEach(name -> patch.addObject().put("$patch", "delete").put("name", name));
    return patch;
  }

  private static Map<String, JsonNode> byName(JsonNode list) {
    Map<String, JsonNode> elements = new LinkedHashMap<>();
    list.forEach(element -> elements.put(element.path("name").asText(), element));
    return elements;
  }

  @Override
  public void close() {
    cluster.kubectlPrints(
        "delete", "pods", "-A", "-l", "gpupool.io/managed", "--force", "--grace-period=0");
    cluster.kubectlPrints("delete", "namespace", "-l", LABEL, "--wait=false");
  }
}
