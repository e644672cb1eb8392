// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.admission;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

/** The webhook before the pool has told how large its GPUs are. */
class UnknownMemoryTest {
  private final List<Admission.Outcome> outcomes = new ArrayList<>();
  private final Admission admission =
      new Admission(
          new Settings(true, OptionalLong::empty), (outcome, nanos) -> outcomes.add(outcome));

  private static ObjectNode pod(String resource, String amount) {
    ObjectNode pod = JsonNodeFactory.instance.objectNode().put("kind", "Pod");
    pod.putObject("metadata").put("name", "train");
    ObjectNode container = pod.putObject("spec").putArray("containers").addObject();
    container.put("name", "main").putObject("resources").putObject("limits").put(resource, amount);
    return pod;
  }

  private JsonNode answer(ObjectNode pod) throws Exception {
    byte[] review =
        Manifest.review("CREATE", pod, null).toString().getBytes(StandardCharsets.UTF_8);
    return JsonMapper.builder().build().readTree(admission.answer(review)).path("response");
  }

  @Test
  void fraction_asked_isRewritten() throws Exception {
    JsonNode response = answer(pod("gpupool.io/gpu", "500m"));
    assertThat(response.path("allowed").asBoolean()).as(response.toString()).isTrue();
    assertThat(response.has("patch")).isTrue();
    assertThat(outcomes).containsExactly(Admission.Outcome.REWRITTEN);
  }

  @Test
  void memory_asked_isRefusedForTheMoment() throws Exception {
    JsonNode response = answer(pod("gpupool.io/gpu-memory", "8Gi"));
    assertThat(response.path("allowed").asBoolean()).isFalse();
    assertThat(response.path("status").path("code").asInt()).isEqualTo(403);
    assertThat(response.path("status").path("message").asText())
        .contains("Container main")
        .contains("cannot be reached at the moment")
        .contains("gpupool.io/gpu: 0.5");
    assertThat(outcomes).containsExactly(Admission.Outcome.REFUSED);
  }

  @Test
  void nothing_asked_isUnchanged() throws Exception {
    assertThat(answer(pod("cpu", "1")).path("allowed").asBoolean()).isTrue();
    assertThat(outcomes).containsExactly(Admission.Outcome.UNCHANGED);
  }
}
