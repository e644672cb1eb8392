// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.admission;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The access to trees of objects; it creates missing maps and lists. */
final class Trees {
  private static final List<String> CONTAINERS = List.of("initContainers", "containers");

  private Trees() {}

  /** Returns the map of this name, created if missing. */
  static ObjectNode map(ObjectNode parent, String name) throws DeniedException {
    JsonNode node = parent.path(name);
    if (node.isMissingNode() || node.isNull()) {
      return parent.putObject(name);
    }
    if (node instanceof ObjectNode map) {
      return map;
    }
    throw DeniedException.wrong("The pod's " + name + " is no map; write 'name: value' there.");
  }

  /** Returns the list of this name, created if missing. */
  static ArrayNode list(ObjectNode parent, String name) throws DeniedException {
    JsonNode node = parent.path(name);
    if (node.isMissingNode() || node.isNull()) {
      return parent.putArray(name);
    }
    if (node instanceof ArrayNode list) {
      return list;
    }
    throw DeniedException.wrong(
        "The pod's " + name + " is no list; begin each of its elements with '- '.");
  }

  /** Returns the containers that can have GPUs. */
  static List<ObjectNode> containers(ObjectNode pod) {
    List<ObjectNode> containers = new ArrayList<>();
    for (String list : CONTAINERS) {
      for (JsonNode element : pod.path("spec").path(list)) {
        if (element instanceof ObjectNode container) {
          containers.add(container);
        }
      }
    }
    return containers;
  }

  static String name(JsonNode named) {
    return named.path("name").isTextual() ? named.path("name").textValue() : "";
  }

  /** Returns the element of a list that has this name. */
  static Optional<JsonNode> named(JsonNode list, String name) {
    for (JsonNode element : list) {
      if (name(element).equals(name)) {
        return Optional.of(element);
      }
    }
    return Optional.empty();
  }

  static JsonNode annotation(JsonNode pod, String name) {
    return pod.path("metadata").path("annotations").path(name);
  }
}
