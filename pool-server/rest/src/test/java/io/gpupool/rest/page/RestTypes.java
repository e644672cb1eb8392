// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.page;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The schemas of the OpenAPI document as types of the Closure Compiler: {@code rest.Lease} is the
 * type of what {@code components/schemas/Lease} describes.
 */
final class RestTypes {
  private static final String REFERENCE = "#/components/schemas/";

  private RestTypes() {}

  /** Returns declarations of all schemas of a document. */
  static String declarations(JsonObject document) {
    StringBuilder out = new StringBuilder("/** @externs */\n/** @const */\nvar rest = {};\n");
    document
        .getAsJsonObject("components")
        .getAsJsonObject("schemas")
        .entrySet()
        .forEach(schema -> declare(schema.getKey(), schema.getValue().getAsJsonObject(), out));
    return out.toString();
  }

  private static void declare(String name, JsonObject schema, StringBuilder out) {
    out.append("/** @record */\nrest.%s = function() {};\n".formatted(name));
    Set<String> required = required(schema);
    properties(schema)
        .forEach((property, of) ->
            out.append(
                "/** @type {%s} */\nrest.%s.prototype.%s;\n"
                    .formatted(type(of, required.contains(property)), name, property)));
  }

  private static String type(JsonObject schema, boolean isRequired) {
    String type = type(schema);
    return isRequired ? type : "(%s|undefined)".formatted(type);
  }

  private static String type(JsonObject schema) {
    if (schema.has("$ref")) {
      return "!rest." + schema.get("$ref").getAsString().substring(REFERENCE.length());
    }
    if (schema.has("anyOf")) {
      return schema.getAsJsonArray("anyOf").asList().stream()
          .map(each -> type(each.getAsJsonObject()))
          .collect(Collectors.joining("|", "(", ")"));
    }
    return switch (schema.get("type").getAsString()) {
      case "integer", "number" -> "number";
      case "array" -> "!Array<%s>".formatted(type(schema.getAsJsonObject("items")));
      case "object" -> schema.has("properties") ? literal(schema) : "!Object<string, ?>";
      case String other -> other;
    };
  }

  private static String literal(JsonObject schema) {
    Set<String> required = required(schema);
    return properties(schema).entrySet().stream()
        .map(property ->
            property.getKey()
                + ": "
                + type(property.getValue(), required.contains(property.getKey())))
        .collect(Collectors.joining(", ", "{", "}"));
  }

  private static Map<String, JsonObject> properties(JsonObject schema) {
    return schema.getAsJsonObject("properties").entrySet().stream()
        .collect(Collectors.toMap(Map.Entry::getKey, each -> each.getValue().getAsJsonObject()));
  }

  private static Set<String> required(JsonObject schema) {
    Set<String> names = new HashSet<>();
    if (schema.has("required")) {
      for (JsonElement name : schema.getAsJsonArray("required")) {
        names.add(name.getAsString());
      }
    }
    return names;
  }
}
