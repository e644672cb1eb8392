// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.admission;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.stream.Stream;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;

/**
 * A golden case: a file of two YAML documents. The first is what comes: {@code object}, {@code
 * oldObject} for an UPDATE, {@code gates: false} for a cluster without, {@code applied: false} if
 * no person would write it. The second is what becomes of it: {@code object} and {@code warnings},
 * or {@code code} and {@code message}.
 */
record Manifest(Path file, JsonNode given, JsonNode expected) {
  static final long GPU_MEMORY_BYTES = 80L << 30;
  private static final JsonMapper JSON = new JsonMapper();
  private static final Map<String, List<String>> RESOURCES =
      Map.of(
          "Pod", List.of("", "pods"),
          "Deployment", List.of("apps", "deployments"),
          "ReplicaSet", List.of("apps", "replicasets"),
          "StatefulSet", List.of("apps", "statefulsets"),
          "DaemonSet", List.of("apps", "daemonsets"),
          "Job", List.of("batch", "jobs"),
          "CronJob", List.of("batch", "cronjobs"),
          "Service", List.of("", "services"));

  static List<Manifest> all() {
    try (Stream<Path> files = Files.list(folder())) {
      return files.sorted().map(Manifest::load).toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static Path folder() {
    try {
      return Path.of(Manifest.class.getResource("/manifests").toURI());
    } catch (URISyntaxException e) {
      throw new IllegalStateException(e);
    }
  }

  private static Manifest load(Path file) {
    try {
      Iterator<Object> documents =
          new Yaml(new SafeConstructor(new LoaderOptions()))
              .loadAll(Files.readString(file))
              .iterator();
      JsonNode given = JSON.valueToTree(documents.next());
      return new Manifest(
          file,
          given,
          documents.hasNext() ? JSON.valueToTree(documents.next()) : JSON.createObjectNode());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  Admission admission() {
    boolean gates = given.path("gates").asBoolean(true);
    return new Admission(new Settings(gates, () -> OptionalLong.of(GPU_MEMORY_BYTES)));
  }

  JsonNode object() {
    return given.path("object");
  }

  boolean isUpdate() {
    return given.has("oldObject");
  }

  ObjectNode review() {
    return isUpdate()
        ? review("UPDATE", object(), given.path("oldObject"))
        : review("CREATE", object(), null);
  }

  /** A review as the API server sends it. */
  static ObjectNode review(String operation, JsonNode object, JsonNode old) {
    List<String> resource = RESOURCES.get(object.path("kind").asText());
    ObjectNode root =
        JSON.createObjectNode()
            .put("apiVersion", "admission.k8s.io/v1")
            .put("kind", "AdmissionReview");
    ObjectNode request = root.putObject("request");
    request.put("uid", "705ab4f5-6393-11e8-b7cc-42010a800002");
    request
        .putObject("resource")
        .put("group", resource.getFirst())
        .put("version", "v1")
        .put("resource", resource.getLast());
    request.put("namespace", "default").put("operation", operation).put("dryRun", false);
    request.set("object", object);
    request.set("oldObject", old);
    return root;
  }

  @Override
  public String toString() {
    return file.getFileName().toString();
  }
}
