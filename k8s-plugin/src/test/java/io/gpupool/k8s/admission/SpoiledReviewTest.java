// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.admission;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.gpupool.k8s.request.GpuRequest;
import io.gpupool.k8s.request.Names;
import io.gpupool.k8s.request.PodRequest;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * Reviews of the golden manifests with something in them spoiled: what is allowed makes sense, and
 * nothing else than a refusal comes out otherwise. {@code -Dgpupool.fuzz.runs} makes it longer.
 */
class SpoiledReviewTest {
  private static final int RUNS = Integer.getInteger("gpupool.fuzz.runs", 5_000);
  private static final JsonMapper JSON = new JsonMapper();
  private static final String[] JUNK = {
    "null",
    "true",
    "0",
    "-1",
    "1e40",
    "1.5",
    "\"\"",
    "\"x\"",
    "\"500m\"",
    "\"1500m\"",
    "\"-1\"",
    "[]",
    "[null]",
    "[[]]",
    "[{}]",
    "{}",
    "{\"name\":\"main\"}",
    "{\"gpupool.io/gpu\":\"0.5\"}",
    "{\"gpupool.io/gpu\":{}}",
    "{\"gpupool.io/gpu-percent\":\"70\"}",
    "\"UPDATE\"",
    "\"CREATE\"",
    "{\"limits\":{\"gpupool.io/gpu-memory\":\"4Gi\"}}",
    "\"gpupool.io/gpu\"",
    "\"\\u0000\""
  };

  private final Random random = new Random(11);
  private final Admission admission =
      new Admission(new Settings(true, () -> OptionalLong.of(Manifest.GPU_MEMORY_BYTES)));

  @Test
  void answer_spoiledTrees_isARefusalOrMakesSense() throws Exception {
    List<Manifest> manifests = Manifest.all();
    int allowed = 0;
    int refused = 0;
    for (int i = 0; i < RUNS; i++) {
      ObjectNode review = manifests.get(random.nextInt(manifests.size())).review().deepCopy();
      for (int spoils = 1 + random.nextInt(3); spoils > 0; spoils--) {
        spoil(review);
      }
      try {
        if (check(review)) {
          allowed++;
        } else {
          refused++;
        }
      } catch (MalformedReviewException e) {
        assertThat(e.getMessage()).isNotBlank();
      }
    }
    // Else it would try nothing but the way in.
    assertThat(allowed).isGreaterThan(RUNS / 10);
    assertThat(refused).isGreaterThan(RUNS / 10);
  }

  @Test
  void answer_spoiledBytes_isAReviewOrMalformed() throws Exception {
    List<Manifest> manifests = Manifest.all();
    for (int i = 0; i < RUNS / 4; i++) {
      byte[] bytes =
          JSON.writeValueAsBytes(manifests.get(random.nextInt(manifests.size())).review());
      for (int spoils = 1 + random.nextInt(4); spoils > 0; spoils--) {
        bytes[random.nextInt(bytes.length)] = (byte) random.nextInt(256);
      }
      try {
        JsonNode response = JSON.readTree(admission.answer(bytes)).path("response");
        assertThat(response.path("allowed").isBoolean()).isTrue();
      } catch (MalformedReviewException e) {
        assertThat(e.getMessage()).isNotBlank();
      }
    }
  }

  /** Whether it was allowed. */
  private boolean check(JsonNode review) throws Exception {
    byte[] body = JSON.writeValueAsBytes(review);
    JsonNode response = JSON.readTree(admission.answer(body)).path("response");
    JsonNode request = review.path("request");
    assertThat(response.path("uid")).isEqualTo(request.path("uid"));
    if (!response.path("allowed").booleanValue()) {
      assertThat(response.has("patch")).isFalse();
      assertThat(response.path("status").path("code").asInt()).isIn(400, 403);
      assertThat(response.path("status").path("message").asText()).endsWith(".");
      return false;
    }
    JsonNode object = JSON.readTree(JSON.writeValueAsBytes(request.path("object")));
    if (response.has("patch")) {
      byte[] patch = Base64.getDecoder().decode(response.path("patch").asText());
      object = PatchApplier.apply(object, JSON.readTree(patch));
    }
    boolean created = request.path("operation").asText().equals("CREATE");
    boolean ours =
        Workload.of(
                request.path("resource").path("group").asText(""),
                request.path("resource").path("resource").asText(""))
            .isPresent();
    if (ours && created && request.path("subResource").asText("").isEmpty()) {
      checkSense((ObjectNode) object, request, response);
      ((ObjectNode) request).set("object", object);
      JsonNode again =
          JSON.readTree(admission.answer(JSON.writeValueAsBytes(review))).path("response");
      assertThat(again.path("allowed").booleanValue()).as("%s", object).isTrue();
      assertThat(again.has("patch")).as("%s", object).isFalse();
    }
    return true;
  }

  private static void checkSense(ObjectNode object, JsonNode request, JsonNode response)
      throws Exception {
    ObjectNode pod =
        Workload.of(
                request.path("resource").path("group").asText(""),
                request.path("resource").path("resource").asText(""))
            .orElseThrow()
            .pod(object);
    String annotation = Trees.annotation(pod, Names.REQUEST).asText("");
    PodRequest asked = PodRequest.parse(annotation).orElse(PodRequest.NOTHING);
    assertThat(annotation.isEmpty()).as("%s", object).isEqualTo(asked.isNothing());
    Map<String, GpuRequest> containers = asked.containers();
    List<String> counted = new ArrayList<>();
    for (ObjectNode container : Trees.containers(pod)) {
      JsonNode resources = container.path("resources");
      for (JsonNode list : List.of(resources.path("requests"), resources.path("limits"))) {
        list.fieldNames()
            .forEachRemaining(name ->
                assertThat(name.startsWith(Names.PREFIX) && !name.equals(Names.GPU_PERCENT))
                    .as("%s in %s", name, object)
                    .isFalse());
      }
      if (resources.path("limits").has(Names.GPU_PERCENT)) {
        assertThat(Counting.counted(container)).as("%s", response).isPositive();
        assertThat(resources.path("requests").path(Names.GPU_PERCENT).asText())
            .isEqualTo(resources.path("limits").path(Names.GPU_PERCENT).asText());
        counted.add(Trees.name(container));
      }
    }
    assertThat(counted).as("%s", object).containsExactlyElementsOf(containers.keySet());
  }

  private void spoil(JsonNode root) throws Exception {
    List<JsonNode> inner = new ArrayList<>();
    collect(root.path("request"), inner);
    JsonNode node = inner.get(random.nextInt(inner.size()));
    JsonNode junk = JSON.readTree(JUNK[random.nextInt(JUNK.length)]);
    if (node instanceof ObjectNode map && !map.isEmpty()) {
      List<String> names = new ArrayList<>();
      map.fieldNames().forEachRemaining(names::add);
      String name = names.get(random.nextInt(names.size()));
      if (random.nextInt(3) == 0) {
        map.remove(name);
      } else {
        map.set(name, junk);
      }
    } else if (node instanceof ArrayNode list && !list.isEmpty()) {
      int at = random.nextInt(list.size());
      switch (random.nextInt(3)) {
        case 0 -> list.set(at, junk);
        case 1 -> list.add(junk);
        default -> list.add(list.get(at).deepCopy());
      }
    }
  }

  private static void collect(JsonNode node, List<JsonNode> inner) {
    if (node.isContainerNode()) {
      inner.add(node);
      node.forEach(child -> collect(child, inner));
    }
  }
}
