// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Checks JSON against a schema of the document, as far as the document's schemas go. */
record Schema(OpenApi document, JsonObject schema) {
  private static final Set<String> KNOWN =
      Set.of(
          "type",
          "format",
          "minimum",
          "description",
          "additionalProperties",
          "required",
          "properties",
          "items",
          "enum",
          "anyOf");

  /** What is wrong with it, a line each. */
  List<String> faults(JsonElement json) {
    List<String> faults = new ArrayList<>();
    check("$", schema, json, faults);
    return faults;
  }

  private void check(String at, JsonObject maybeRef, JsonElement json, List<String> faults) {
    JsonObject rule = document.resolve(maybeRef);
    rule.keySet().stream()
        .filter(key -> !KNOWN.contains(key))
        .forEach(key -> faults.add(at + ": the test does not know the keyword " + key));
    if (rule.has("anyOf")) {
      boolean fits =
          rule.getAsJsonArray("anyOf").asList().stream()
              .anyMatch(one -> new Schema(document, one.getAsJsonObject()).faults(json).isEmpty());
      if (!fits) {
        faults.add(at + ": fits none of anyOf");
      }
      return;
    }
    switch (rule.get("type").getAsString()) {
      case "object" -> checkObject(at, rule, json, faults);
      case "array" -> {
        if (!json.isJsonArray()) {
          faults.add(at + ": no array");
          return;
        }
        for (JsonElement item : json.getAsJsonArray()) {
          check(at + "[]", rule.getAsJsonObject("items"), item, faults);
        }
      }
      default -> checkValue(at, rule, json, faults);
    }
  }

  private void checkObject(String at, JsonObject rule, JsonElement json, List<String> faults) {
    if (!json.isJsonObject()) {
      faults.add(at + ": no object");
      return;
    }
    JsonObject object = json.getAsJsonObject();
    if (!rule.has("properties")) {
      return;
    }
    JsonObject properties = rule.getAsJsonObject("properties");
    for (JsonElement name : rule.getAsJsonArray("required")) {
      if (!object.has(name.getAsString())) {
        faults.add(at + ": no " + name.getAsString());
      }
    }
    for (Map.Entry<String, JsonElement> field : object.entrySet()) {
      if (properties.has(field.getKey())) {
        check(
            at + "." + field.getKey(),
            properties.getAsJsonObject(field.getKey()),
            field.getValue(),
            faults);
      } else {
        faults.add(at + ": " + field.getKey() + " is not in the document");
      }
    }
  }

  private static void checkValue(
      String at, JsonObject rule, JsonElement json, List<String> faults) {
    if (!(json instanceof JsonPrimitive value) || !hasType(rule.get("type").getAsString(), value)) {
      faults.add(at + ": " + json + " is no " + rule.get("type"));
      return;
    }
    if (rule.has("enum") && !rule.getAsJsonArray("enum").contains(value)) {
      faults.add(at + ": " + json + " is none of " + rule.get("enum"));
    }
    if (rule.has("minimum") && value.getAsLong() < rule.get("minimum").getAsLong()) {
      faults.add(at + ": " + json + " is below the minimum");
    }
  }

  private static boolean hasType(String type, JsonPrimitive value) {
    return switch (type) {
      case "string" -> value.isString();
      case "boolean" -> value.isBoolean();
      case "integer" -> value.isNumber() && value.getAsDouble() == Math.rint(value.getAsDouble());
      case "number" -> value.isNumber();
      default -> false;
    };
  }
}
