// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.admission;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

/** Applies JSON patches as RFC 6902 says: what is to be replaced or removed has to be there. */
final class PatchApplier {
  private PatchApplier() {}

  static JsonNode apply(JsonNode document, JsonNode patch) {
    JsonNode result = document.deepCopy();
    require(patch.isArray(), "a patch is a list");
    for (JsonNode operation : patch) {
      change(result, operation);
    }
    return result;
  }

  private static void change(JsonNode document, JsonNode operation) {
    String path = operation.path("path").textValue();
    require(path.startsWith("/"), "'" + path + "' points to no part");
    int last = path.lastIndexOf('/');
    JsonNode parent = document.at(path.substring(0, last));
    String name = path.substring(last + 1).replace("~1", "/").replace("~0", "~");
    JsonNode value = operation.get("value");
    String kind = operation.path("op").asText();
    require(kind.equals("remove") == (value == null), kind + " and its value");
    if (parent instanceof ObjectNode map) {
      require(kind.equals("add") || map.has(name), path + " is not there");
      switch (kind) {
        case "add", "replace" -> map.set(name, value);
        case "remove" -> map.remove(name);
        default -> throw new IllegalArgumentException(kind);
      }
    } else if (parent instanceof ArrayNode list) {
      int index = name.equals("-") ? list.size() : Integer.parseInt(name);
      require(index < list.size() || kind.equals("add") && index == list.size(), path);
      switch (kind) {
        case "add" -> list.insert(index, value);
        case "replace" -> list.set(index, value);
        case "remove" -> list.remove(index);
        default -> throw new IllegalArgumentException(kind);
      }
    } else {
      throw new IllegalArgumentException(path + " has no parent");
    }
  }

  private static void require(boolean condition, String what) {
    if (!condition) {
      throw new IllegalArgumentException(what);
    }
  }
}
