// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.openapi;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * A schema of a document.
 *
 * @param document the document that its references point into
 */
public record Schema(JsonObject document, JsonObject rule) {
  /** What is wrong with this JSON, one text a fault, each beginning with the place. */
  public List<String> faults(JsonElement json) {
    List<String> faults = new ArrayList<>();
    check("$", rule, json, faults);
    return faults;
  }

  private void check(String at, JsonObject given, JsonElement json, List<String> faults) {
    JsonObject now = resolve(given);
    if (now.has("anyOf")) {
      boolean fits =
          now.getAsJsonArray("anyOf").asList().stream()
              .map(one -> new Schema(document, one.getAsJsonObject()))
              .anyMatch(one -> one.faults(json).isEmpty());
      if (!fits) {
        faults.add(at + " fits none of what it may be");
      }
    }
    if (!now.has("type")) {
      return;
    }
    switch (now.get("type").getAsString()) {
      case "object" -> checkObject(at, now, json, faults);
      case "array" -> checkArray(at, now, json, faults);
      default -> {
        if (json instanceof JsonPrimitive value) {
          ScalarSchema.check(at, now, value, faults);
        } else {
          faults.add(at + " is to be a " + now.get("type").getAsString());
        }
      }
    }
  }

  private void checkArray(String at, JsonObject now, JsonElement json, List<String> faults) {
    if (!json.isJsonArray()) {
      faults.add(at + " is to be an array");
      return;
    }
    checkCount(at, now, "Items", json.getAsJsonArray().size(), faults);
    int index = 0;
    for (JsonElement item : json.getAsJsonArray()) {
      check(at + "[" + index++ + "]", now.getAsJsonObject("items"), item, faults);
    }
  }

  private void checkObject(String at, JsonObject now, JsonElement json, List<String> faults) {
    if (!json.isJsonObject()) {
      faults.add(at + " is to be an object");
      return;
    }
    JsonObject object = json.getAsJsonObject();
    if (object.isEmpty() && now.has("minProperties") && now.has("properties")) {
      faults.add(at + " is empty; give some of " + choices(now.getAsJsonObject("properties")));
    } else {
      checkCount(at, now, "Properties", object.size(), faults);
    }
    if (now.has("required")) {
      for (JsonElement name : now.getAsJsonArray("required")) {
        if (!object.has(name.getAsString())) {
          faults.add(at + " has no " + name.getAsString());
        }
      }
    }
    JsonObject properties =
        now.has("properties") ? now.getAsJsonObject("properties") : new JsonObject();
    JsonElement others = now.get("additionalProperties");
    for (Map.Entry<String, JsonElement> field : object.entrySet()) {
      String place = at + "." + ScalarSchema.brief(field.getKey());
      if (properties.has(field.getKey())) {
        check(place, properties.getAsJsonObject(field.getKey()), field.getValue(), faults);
      } else if (others != null && others.isJsonObject()) {
        check(place, others.getAsJsonObject(), field.getValue(), faults);
      } else if (others != null && !others.getAsBoolean()) {
        faults.add(place + " is not known; there are " + String.join(", ", properties.keySet()));
      }
    }
  }

  private static String choices(JsonObject properties) {
    return properties.entrySet().stream()
        .map(one ->
            one.getKey() + " (" + ScalarSchema.choice(one.getValue().getAsJsonObject()) + ")")
        .collect(Collectors.joining(", "));
  }

  private static void checkCount(
      String at, JsonObject now, String what, int count, List<String> faults) {
    if (now.has("max" + what) && count > now.get("max" + what).getAsInt()) {
      faults.add(at + " has over " + now.get("max" + what) + " entries");
    }
    if (now.has("min" + what) && count < now.get("min" + what).getAsInt()) {
      faults.add(at + " has under " + now.get("min" + what) + " entries");
    }
  }

  /** What a {@code $ref} stands for, or the object itself. */
  private JsonObject resolve(JsonObject object) {
    JsonObject at = object;
    while (at.has("$ref")) {
      JsonObject found = document;
      for (String name : at.get("$ref").getAsString().substring("#/".length()).split("/")) {
        found = found.getAsJsonObject(name);
      }
      at = found;
    }
    return at;
  }
}
