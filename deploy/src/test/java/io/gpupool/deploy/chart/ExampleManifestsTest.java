// SPDX-License-Identifier: Apache-2.0
package io.gpupool.deploy.chart;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.fabric8.kubernetes.client.utils.KubernetesSerialization;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The examples of manifests are what Kubernetes takes. */
class ExampleManifestsTest {
  private static final KubernetesSerialization YAML = new KubernetesSerialization();

  @ParameterizedTest
  @MethodSource("files")
  void manifest_eachObject_hasOnlyFieldsOfItsKind(Path file) throws IOException {
    List<String> documents =
        Arrays.stream(Files.readString(file).split("(?m)^---$"))
            .filter(text -> !text.isBlank())
            .toList();
    assertThat(documents).isNotEmpty();
    for (String document : documents) {
      if (Manifests.read(document).isEmpty()) {
        List<JsonNode> templates = YAML.unmarshal(document, JsonNode.class).findValues("template");
        assertThat(templates).as("pods of a custom resource").hasSizeGreaterThanOrEqualTo(2);
        templates.forEach(ExampleManifestsTest::readPod);
      }
    }
  }

  private static void readPod(JsonNode template) {
    String pod =
        "{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"spec\": " + template.path("spec") + "}";
    assertThat(Manifests.read(pod)).isPresent();
  }

  static List<Path> files() throws IOException {
    try (Stream<Path> all = Files.list(Chart.FOLDER.resolve("../../examples/kubernetes"))) {
      return all.filter(path -> path.toString().endsWith(".yaml")).sorted().toList();
    }
  }
}
