// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.admission;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;

/** A JSON patch (RFC 6902) that turns one tree into another. */
final class JsonPatch {
  private final ArrayNode operations = JsonNodeFactory.instance.arrayNode();

  private JsonPatch() {}

  /** Returns the operations; empty if the trees are the same. */
  static ArrayNode between(JsonNode from, JsonNode to) {
    JsonPatch patch = new JsonPatch();
    patch.compare("", from, to);
    return patch.operations;
  }

  private void compare(String path, JsonNode from, JsonNode to) {
    if (from instanceof ObjectNode && to instanceof ObjectNode) {
      compareMaps(path, from, to);
    } else if (from instanceof ArrayNode && to instanceof ArrayNode && from.size() <= to.size()) {
      for (int i = 0; i < from.size(); i++) {
        compare(path + "/" + i, from.get(i), to.get(i));
      }
      for (int i = from.size(); i < to.size(); i++) {
        add("add", path + "/-").set("value", to.get(i));
      }
    } else if (!from.equals(to)) {
      add("replace", path).set("value", to);
    }
  }

  private void compareMaps(String path, JsonNode from, JsonNode to) {
    from.fieldNames()
        .forEachRemaining(name -> {
          if (!to.has(name)) {
            add("remove", path + "/" + escaped(name));
          }
        });
    to.properties()
        .forEach(entry -> {
          String there = path + "/" + escaped(entry.getKey());
          JsonNode before = from.get(entry.getKey());
          if (before == null) {
            add("add", there).set("value", entry.getValue());
          } else {
            compare(there, before, entry.getValue());
          }
        });
  }

  private ObjectNode add(String operation, String path) {
    return operations.addObject().put("op", operation).put("path", path);
  }

  /** Escapes a name as RFC 6901 says. */
  private static String escaped(String name) {
    return name.replace("~", "~0").replace("/", "~1");
  }
}
