// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.request;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;

/** The checked access to trees that may not have the right shape. */
final class Shapes {
  private static final int MAX_TEXT = 80;

  private Shapes() {}

  /** Returns the map of this name; empty if there is none. */
  static JsonNode object(JsonNode parent, String field, String where) throws RefusedException {
    JsonNode node = parent.path(field);
    if (node.isMissingNode() || node.isNull()) {
      return JsonNodeFactory.instance.objectNode();
    }
    if (!node.isObject()) {
      throw RefusedException.wrong(where + ": " + field + " is no map; write 'name: value' there.");
    }
    return node;
  }

  /** Returns the list of this name, whose elements are maps; empty if there is none. */
  static JsonNode list(JsonNode parent, String field, String where) throws RefusedException {
    JsonNode node = parent.path(field);
    if (node.isMissingNode() || node.isNull()) {
      return JsonNodeFactory.instance.arrayNode();
    }
    boolean fits = node.isArray();
    for (JsonNode element : node) {
      fits &= element.isObject();
    }
    if (!fits) {
      throw RefusedException.wrong(
          where + ": " + field + " is no list of maps; begin each of its elements with '- '.");
    }
    return node;
  }

  /** Shortens a user's text for messages. */
  static String shortened(String text) {
    return text.length() <= MAX_TEXT ? text : text.substring(0, MAX_TEXT) + "...";
  }
}
