// SPDX-License-Identifier: Apache-2.0
package io.gpupool.deploy.docs;

import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.apps.StatefulSet;
import io.gpupool.deploy.ProjectTree;
import io.gpupool.deploy.chart.Chart;
import io.gpupool.deploy.chart.Manifests;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The objects that commands in the documents can refer to: the chart's, the examples', and those
 * that other commands make.
 *
 * @param objects as {@code kind/name}; servers stand for their pods
 * @param labels as {@code name=value}, of the chart's objects
 * @param namespaces that commands create
 * @param images repositories of images that commands build
 * @param devices of container engines, by their names
 * @param variables of the environment
 * @param distribution the page with the distribution's folders
 * @param names of Kubernetes objects under {@code gpupool.io}
 */
record DocumentedObjects(
    Set<String> objects,
    Set<String> labels,
    Set<String> namespaces,
    Set<String> images,
    Set<String> devices,
    Set<String> variables,
    Page distribution,
    ManifestNames names) {
  private static final Pattern NAMESPACE = Pattern.compile("kubectl create namespace (\\S+)");
  private static final Pattern SECRET = Pattern.compile("create secret generic (\\S+)");
  private static final Pattern IMAGE = Pattern.compile("--name (\\S+):\\S+");
  private static final Pattern DEVICE = Pattern.compile("gpupool container cdi .*--device (\\S+)");
  private static final Pattern VARIABLE = Pattern.compile("`(GPUPOOL_[A-Z_]+)`");

  /** Reads chart, examples and pages. */
  static DocumentedObjects read(List<Page> pages) throws IOException {
    Set<String> objects = new HashSet<>();
    Set<String> labels = new HashSet<>();
    for (String document : Chart.of(Chart.NEWEST).documents()) {
      Manifests.read(document)
          .ifPresent(object -> {
            objects.add(key(object));
            object
                .getMetadata()
                .getLabels()
                .forEach((name, value) -> labels.add(name + "=" + value));
            if (object instanceof StatefulSet) {
              objects.add("pod/" + object.getMetadata().getName() + "-0");
            }
          });
    }
    for (Path path : ProjectTree.files()) {
      if (path.startsWith("deploy/examples/kubernetes") && path.toString().endsWith(".yaml")) {
        for (String document : text(path).split("(?m)^---$")) {
          Manifests.read(document).ifPresent(object -> objects.add(key(object)));
        }
      }
    }
    found(SECRET, pages).forEach(name -> objects.add("secret/" + name));
    Set<String> namespaces = found(NAMESPACE, pages);
    namespaces.forEach(name -> objects.add("namespace/" + name));
    Set<String> devices = found(DEVICE, pages);
    devices.add("shared");
    return new DocumentedObjects(
        objects,
        labels,
        namespaces,
        found(IMAGE, pages),
        devices,
        found(VARIABLE, List.of(Page.read(Path.of("docs/reference/environment.md")))),
        Page.read(Path.of("deploy/README.md")),
        ManifestNames.read(Page.read(Path.of("docs/reference/annotations.md"))));
  }

  boolean has(String kind, String name) {
    return objects.contains(kind + "/" + name);
  }

  /** Returns whether some object of the chart has a label, of a value if one is given. */
  boolean hasLabel(String term) {
    return labels.stream().anyMatch(label -> label.equals(term) || label.startsWith(term + "="));
  }

  /** Returns whether the page of the distribution names a file beside its folder. */
  boolean isDistributed(String file) {
    Path path = Path.of(file);
    String folder = "gpupool/" + Optional.ofNullable(path.getParent()).orElse(Path.of("")) + "/ ";
    return distribution.lines().stream()
        .map(Page.Line::text)
        .filter(line -> line.startsWith(folder))
        .anyMatch(line -> List.of(line.split("[ ,]+")).contains(path.getFileName().toString()));
  }

  /** Returns the image that the chart takes without values. */
  String chartImage() {
    Matcher version = Pattern.compile("appVersion: \"(.*)\"").matcher(chart("Chart.yaml"));
    Matcher repository = Pattern.compile("(?m)^  repository: (.*)$").matcher(chart("values.yaml"));
    if (!version.find() || !repository.find()) {
      throw new IllegalStateException("the chart has no version or no image");
    }
    return repository.group(1) + ":" + version.group(1);
  }

  private static String chart(String file) {
    try {
      return Files.readString(Chart.FOLDER.resolve(file));
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  private static String key(HasMetadata object) {
    return object.getKind().toLowerCase(Locale.ROOT) + "/" + object.getMetadata().getName();
  }

  private static Set<String> found(Pattern pattern, List<Page> pages) {
    return pages.stream()
        .flatMap(page -> page.lines().stream())
        .flatMap(line -> pattern.matcher(line.text()).results())
        .map(match -> match.group(1))
        .collect(Collectors.toCollection(HashSet::new));
  }

  private static String text(Path path) throws IOException {
    return Files.readString(ProjectTree.ROOT.resolve(path));
  }
}
