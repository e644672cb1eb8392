// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.admission;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.Base64;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Every file under {@code manifests}, through the webhook and back. */
class ManifestTest {
  private static final JsonMapper JSON = new JsonMapper();

  static List<Manifest> all() {
    return Manifest.all();
  }

  /** Those that become something, and what that is. */
  static Stream<Manifest> admitted() {
    return all().stream().filter(manifest -> manifest.expected().has("object"));
  }

  @Test
  void manifests_all_areManyEnough() {
    assertThat(all()).hasSizeGreaterThanOrEqualTo(60);
    assertThat(admitted().count()).isGreaterThanOrEqualTo(30);
  }

  @ParameterizedTest
  @MethodSource("all")
  void review_manifest_isAnsweredAsTheFileSays(Manifest manifest) throws Exception {
    JsonNode response = response(manifest.admission(), manifest.review());
    JsonNode expected = manifest.expected();
    assertThat(response.path("uid").asText()).isEqualTo("705ab4f5-6393-11e8-b7cc-42010a800002");
    assertThat(response.path("warnings")).isEqualTo(expected.path("warnings"));
    if (expected.has("object")) {
      assertThat(response.path("allowed").asBoolean()).as("%s", response).isTrue();
      assertThat(normal(patched(manifest.object(), response)))
          .isEqualTo(normal(expected.path("object")));
    } else {
      assertThat(response.path("allowed").booleanValue()).as("%s", response).isFalse();
      assertThat(response.has("patch")).isFalse();
      assertThat(response.path("status").path("message").asText())
          .isEqualTo(expected.path("message").asText());
      assertThat(response.path("status").path("code").asInt())
          .isEqualTo(expected.path("code").asInt());
    }
  }

  @ParameterizedTest
  @MethodSource("admitted")
  void review_itsOwnOutput_isNotChanged(Manifest manifest) throws Exception {
    JsonNode object = manifest.expected().path("object");
    JsonNode again =
        manifest.isUpdate()
            ? Manifest.review("UPDATE", object, manifest.given().path("oldObject"))
            : Manifest.review("CREATE", object, null);
    JsonNode response = response(manifest.admission(), again);
    assertThat(response.path("allowed").asBoolean()).as("%s", response).isTrue();
    assertThat(response.has("patch")).as("%s", response).isFalse();
  }

  /** Those that a person may have written and applied. */
  static Stream<Manifest> applied() {
    return admitted().filter(manifest -> manifest.given().path("applied").asBoolean(true));
  }

  /** As {@code kubectl apply} does it: what the manifest says is put over what is there. */
  @ParameterizedTest
  @MethodSource("applied")
  void review_manifestAppliedAgain_becomesWhatIsThere(Manifest manifest) throws Exception {
    JsonNode there = manifest.expected().path("object");
    JsonNode applied = over(there, manifest.object());
    JsonNode response = response(manifest.admission(), Manifest.review("UPDATE", applied, there));
    assertThat(response.path("allowed").asBoolean()).as("%s", response).isTrue();
    assertThat(normal(patched(applied, response))).isEqualTo(normal(there));
  }

  private static JsonNode response(Admission admission, JsonNode review) throws Exception {
    JsonNode answer = JSON.readTree(admission.answer(JSON.writeValueAsBytes(review)));
    assertThat(answer.path("apiVersion").asText()).isEqualTo("admission.k8s.io/v1");
    assertThat(answer.path("kind").asText()).isEqualTo("AdmissionReview");
    return answer.path("response");
  }

  private static JsonNode patched(JsonNode object, JsonNode response) throws IOException {
    if (!response.has("patch")) {
      return object;
    }
    assertThat(response.path("patchType").asText()).isEqualTo("JSONPatch");
    byte[] patch = Base64.getDecoder().decode(response.path("patch").asText());
    return PatchApplier.apply(object, JSON.readTree(patch));
  }

  private static JsonNode over(JsonNode there, JsonNode given) {
    if (there instanceof ObjectNode map && given.isObject()) {
      ObjectNode result = map.deepCopy();
      given
          .properties()
          .forEach(entry -> {
            JsonNode before = result.get(entry.getKey());
            result.set(
                entry.getKey(), before == null ? entry.getValue() : over(before, entry.getValue()));
          });
      return result;
    }
    if (there.isArray() && given.isArray() && given.path(0).has("name")) {
      ArrayNode result = there.deepCopy();
      for (JsonNode element : given) {
        for (int i = 0; i < result.size(); i++) {
          if (result.get(i).path("name").equals(element.path("name"))) {
            result.set(i, over(result.get(i), element));
          }
        }
      }
      return result;
    }
    return given;
  }

  /** Numbers as JSON writes them, whatever read them. */
  private static JsonNode normal(JsonNode tree) throws IOException {
    return JSON.readTree(JSON.writeValueAsBytes(tree));
  }
}
