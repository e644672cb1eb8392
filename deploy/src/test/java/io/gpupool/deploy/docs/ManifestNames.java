// SPDX-License-Identifier: Apache-2.0
package io.gpupool.deploy.docs;

import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.utils.KubernetesSerialization;
import io.gpupool.deploy.chart.Manifests;
import io.gpupool.deploy.docs.Page.Kind;
import io.gpupool.deploy.docs.Page.Line;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The names that objects of Kubernetes may have under {@code gpupool.io}, as the page of names
 * lists them.
 */
record ManifestNames(Set<String> resources, Set<String> annotations, Set<String> labels) {
  private static final KubernetesSerialization YAML = new KubernetesSerialization();
  private static final Pattern NAME = Pattern.compile("^\\| `([\\w./-]+)`");

  /** Reads the page of names, by its headings. */
  static ManifestNames read(Page page) {
    Set<String> resources = new TreeSet<>();
    Set<String> annotations = new TreeSet<>();
    Set<String> labels = new TreeSet<>();
    Set<String> section = resources;
    for (Line line : page.lines(Kind.HEADING, Kind.TABLE)) {
      if (line.kind() == Kind.HEADING) {
        section =
            line.text().startsWith("## Annotations")
                ? annotations
                : line.text().startsWith("## Labels")
                    ? labels
                    : line.text().startsWith("## Resources") ? resources : new TreeSet<>();
      } else {
        NAME.matcher(line.text()).results().map(found -> found.group(1)).forEach(section::add);
      }
    }
    return new ManifestNames(resources, annotations, labels);
  }

  /** Returns the documents in blocks of YAML. */
  static List<String> manifests(Page page) {
    List<String> manifests = new ArrayList<>();
    Optional<StringBuilder> block = Optional.empty();
    for (Line line : page.lines(Kind.CODE, Kind.OTHER)) {
      if (line.kind() == Kind.OTHER) {
        block.ifPresent(text -> manifests.addAll(List.of(text.toString().split("(?m)^---\n"))));
        block =
            line.text().strip().equals("```yaml")
                ? Optional.of(new StringBuilder())
                : Optional.empty();
      } else {
        block.ifPresent(text -> text.append(line.text()).append('\n'));
      }
    }
    return manifests;
  }

  boolean isLabel(String name) {
    return labels.contains(name);
  }

  /** Returns the problems of a document; part of one only has to be YAML. */
  List<String> problems(String manifest) {
    List<String> problems = new ArrayList<>();
    try {
      if (!manifest.contains("apiVersion:") && !manifest.contains("kind:")) {
        Object ignored = YAML.unmarshal(manifest.stripIndent(), Object.class);
      } else {
        Manifests.read(manifest).ifPresent(object -> problems.addAll(unknownNames(object)));
      }
    } catch (AssertionError | RuntimeException e) {
      problems.add(String.valueOf(e.getMessage()));
    }
    return problems;
  }

  private List<String> unknownNames(HasMetadata object) {
    List<String> problems = new ArrayList<>();
    unknown(object.getMetadata().getAnnotations(), annotations)
        .forEach(name -> problems.add("no annotation " + name));
    unknown(object.getMetadata().getLabels(), labels)
        .forEach(name -> problems.add("no label " + name));
    if (object instanceof Pod pod) {
      for (Container container : pod.getSpec().getContainers()) {
        if (container.getResources() != null) {
          Stream.concat(
                  unknown(container.getResources().getLimits(), resources),
                  unknown(container.getResources().getRequests(), resources))
              .forEach(name -> problems.add("no resource " + name));
        }
      }
    }
    return problems;
  }

  private static Stream<String> unknown(Map<String, ?> map, Set<String> known) {
    return Optional.ofNullable(map).map(Map::keySet).orElse(Set.of()).stream()
        .filter(name -> name.matches("(gpupool|bitfusion)\\.io/.*"))
        // A count may be that of one container, whose name follows.
        .filter(name -> !known.contains(name.replaceFirst("(/[^.]*)\\..*", "$1")));
  }
}
