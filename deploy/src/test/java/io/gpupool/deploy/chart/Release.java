// SPDX-License-Identifier: Apache-2.0
package io.gpupool.deploy.chart;

import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.PodSpec;
import io.fabric8.kubernetes.api.model.PodTemplateSpec;
import io.fabric8.kubernetes.api.model.apps.DaemonSet;
import io.fabric8.kubernetes.api.model.apps.Deployment;
import io.fabric8.kubernetes.api.model.apps.StatefulSet;
import java.util.List;
import java.util.stream.Stream;

/**
 * What a chart renders to.
 *
 * @param objects those of kinds that Kubernetes itself has
 */
record Release(List<HasMetadata> objects) {
  <T extends HasMetadata> List<T> all(Class<T> kind) {
    return objects.stream().filter(kind::isInstance).map(kind::cast).toList();
  }

  <T extends HasMetadata> T only(Class<T> kind, String name) {
    List<T> found =
        all(kind).stream().filter(object -> object.getMetadata().getName().equals(name)).toList();
    assertThat(found).as("%s %s", kind.getSimpleName(), name).hasSize(1);
    return found.getFirst();
  }

  PodSpec controller() {
    return only(Deployment.class, "gpupool-controller").getSpec().getTemplate().getSpec();
  }

  PodSpec node() {
    return only(DaemonSet.class, "gpupool-node").getSpec().getTemplate().getSpec();
  }

  PodSpec server() {
    return only(StatefulSet.class, "gpupool-server").getSpec().getTemplate().getSpec();
  }

  /** The pods of all that it makes pods with. */
  List<PodSpec> pods() {
    return Stream.of(
            all(Deployment.class).stream().map(object -> object.getSpec().getTemplate()),
            all(DaemonSet.class).stream().map(object -> object.getSpec().getTemplate()),
            all(StatefulSet.class).stream().map(object -> object.getSpec().getTemplate()))
        .flatMap(templates -> templates)
        .map(PodTemplateSpec::getSpec)
        .toList();
  }

  /** What the only container of a pod is started with. */
  static List<String> arguments(PodSpec pod) {
    return container(pod).getArgs();
  }

  static Container container(PodSpec pod) {
    assertThat(pod.getContainers()).hasSize(1);
    return pod.getContainers().getFirst();
  }
}
