// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.admission;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Pods that use claims of dynamic resource allocation. */
class ClaimsTest {
  private static final JsonMapper JSON = new JsonMapper();
  private static final Settings SETTINGS = new Settings(true, OptionalLong::empty);

  private static Change admit(String annotations) throws Exception {
    return NewPod.admit(
        (ObjectNode)
            JSON.readTree(
                """
                {"apiVersion": "v1", "kind": "Pod",
                 "metadata": {"name": "train", "annotations": %s},
                 "spec": {
                   "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "eight-gib"}],
                   "containers": [
                     {"name": "main", "image": "a", "resources": {"claims": [{"name": "gpu"}]}},
                     {"name": "other", "image": "b"}]}}
                """
                    .formatted(annotations)),
        SETTINGS);
  }

  @Test
  void pod_thatSaysSo_hasTheTokenWhereClaimsAreUsed() throws Exception {
    Change change = admit("{\"gpupool.io/claims\": \"true\"}");
    JsonNode spec = change.object().path("spec");
    assertThat(change.warnings()).isEmpty();
    assertThat(spec.path("volumes")).hasSize(1);
    assertThat(spec.path("volumes").path(0).path("name").asText()).isEqualTo("gpupool-token");
    assertThat(spec.path("containers").path(0).path("volumeMounts").path(0).path("mountPath"))
        .hasToString("\"/var/run/secrets/gpupool.io\"");
    assertThat(spec.path("containers").path(0).has("env")).isFalse();
    assertThat(spec.path("containers").path(1).has("volumeMounts")).isFalse();
    assertThat(spec.has("schedulingGates")).isFalse();
    assertThat(change.object().path("metadata").has("labels")).isFalse();
    Change again = NewPod.admit(change.object(), SETTINGS);
    assertThat(again.object()).isEqualTo(change.object());
  }

  @ParameterizedTest
  @ValueSource(strings = {"{}", "{\"gpupool.io/claims\": \"false\"}"})
  void pod_thatDoesNot_isNotChanged(String annotations) throws Exception {
    assertThat(admit(annotations).object().path("spec").has("volumes")).isFalse();
  }
}
