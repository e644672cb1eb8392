// SPDX-License-Identifier: Apache-2.0
package io.gpupool.deploy.chart;

import com.marcnuri.helm.Helm;
import com.marcnuri.helm.TemplateCommand;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * The Helm chart gpupool as a release of it would be, with values and for a version of Kubernetes.
 */
public final class Chart {
  public static final Path FOLDER =
      Path.of(System.getProperty("gpupool.root"), "deploy/charts/gpupool");

  /** The newest that it is rendered for. */
  public static final String NEWEST = "1.34.0";

  private final TemplateCommand template;

  private Chart(TemplateCommand template) {
    this.template = template;
  }

  /** The release {@code gpupool} in the namespace {@code gpupool-system}. */
  public static Chart of(String kubernetes) {
    return new Chart(
        new Helm(FOLDER)
            .template()
            .withName("gpupool")
            .withNamespace("gpupool-system")
            .withKubeVersion(kubernetes));
  }

  /** Sets values, written as YAML. */
  public Chart values(String yaml) {
    try {
      Path file = Files.createTempFile("values", ".yaml");
      file.toFile().deleteOnExit();
      template.withValuesFile(Files.writeString(file, yaml));
      return this;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Sets one value. */
  public Chart set(String name, String value) {
    template.set(name, value);
    return this;
  }

  /**
   * Renders it.
   *
   * @return the documents, as text
   */
  public List<String> documents() {
    return Arrays.stream(template.call().split("(?m)^---$"))
        .filter(text -> !text.isBlank())
        .toList();
  }

  /** Renders it, all documents of which the models know the kinds read strictly. */
  Release release() {
    return new Release(
        documents().stream().map(Manifests::read).flatMap(Optional::stream).toList());
  }
}
