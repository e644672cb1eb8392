// SPDX-License-Identifier: Apache-2.0
package io.gpupool.deploy.chart;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.introspect.Annotated;
import com.fasterxml.jackson.databind.introspect.JacksonAnnotationIntrospector;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.client.utils.KubernetesSerialization;
import java.util.Optional;

/** Reads manifests into typed models, and refuses fields that these do not have. */
public final class Manifests {
  private static final KubernetesSerialization YAML = new KubernetesSerialization();
  private static final ObjectMapper STRICT =
      new ObjectMapper()
          .enable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
          .setAnnotationIntrospector(new NoPlaceForOthers());

  private Manifests() {}

  /** The models keep what they do not know, unless there is nowhere to put it. */
  private static final class NoPlaceForOthers extends JacksonAnnotationIntrospector {
    private static final long serialVersionUID = 1;

    @Override
    public Boolean hasAnySetter(Annotated annotated) {
      return annotated.getName().equals("setAdditionalProperty")
          ? Boolean.FALSE
          : super.hasAnySetter(annotated);
    }
  }

  /**
   * Reads one document.
   *
   * @return nothing if it is of a kind that comes with a CRD
   * @throws AssertionError if it has a field that its kind has not
   */
  public static Optional<HasMetadata> read(String yaml) {
    HasMetadata object = YAML.unmarshal(yaml, HasMetadata.class);
    if (object instanceof GenericKubernetesResource) {
      return Optional.empty();
    }
    JsonNode tree = YAML.unmarshal(yaml, JsonNode.class);
    try {
      return Optional.of(STRICT.treeToValue(tree, object.getClass()));
    } catch (JsonProcessingException e) {
      throw new AssertionError(e.getOriginalMessage() + " in:\n" + yaml, e);
    }
  }
}
