// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.admission;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Optional;

/** The kinds of objects that are pods or have a pod template. */
enum Workload {
  POD("", "pods", List.of()),
  DEPLOYMENT("apps", "deployments", List.of("spec", "template")),
  REPLICA_SET("apps", "replicasets", List.of("spec", "template")),
  STATEFUL_SET("apps", "statefulsets", List.of("spec", "template")),
  DAEMON_SET("apps", "daemonsets", List.of("spec", "template")),
  JOB("batch", "jobs", List.of("spec", "template")),
  CRON_JOB("batch", "cronjobs", List.of("spec", "jobTemplate", "spec", "template"));

  private final String group;
  private final String resource;
  private final List<String> path;

  Workload(String group, String resource, List<String> path) {
    this.group = group;
    this.resource = resource;
    this.path = path;
  }

  /** Returns the kind of a resource; empty for those without pods. */
  static Optional<Workload> of(String group, String resource) {
    for (Workload workload : values()) {
      if (workload.group.equals(group) && workload.resource.equals(resource)) {
        return Optional.of(workload);
      }
    }
    return Optional.empty();
  }

  /** Returns the pod or pod template. */
  ObjectNode pod(ObjectNode object) throws DeniedException {
    JsonNode node = object;
    for (String step : path) {
      node = node.path(step);
    }
    if (!(node instanceof ObjectNode pod)) {
      throw DeniedException.wrong("There is no pod template at " + String.join(".", path) + ".");
    }
    if (!pod.path("spec").isObject() || !isMapOrNothing(pod.path("metadata"))) {
      throw DeniedException.wrong(
          "The pod has no spec, or its metadata is no map; see 'kubectl explain pod'.");
    }
    return pod;
  }

  private static boolean isMapOrNothing(JsonNode node) {
    return node.isObject() || node.isNull() || node.isMissingNode();
  }

  /** Returns the object with another pod or template. */
  ObjectNode with(ObjectNode object, ObjectNode pod) {
    if (path.isEmpty()) {
      return pod;
    }
    ObjectNode copy = object.deepCopy();
    JsonNode parent = copy;
    for (String step : path.subList(0, path.size() - 1)) {
      parent = parent.path(step);
    }
    ((ObjectNode) parent).set(path.getLast(), pod);
    return copy;
  }
}
