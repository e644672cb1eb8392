// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.resource;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import io.gpupool.rest.http.EntityTag;
import java.util.Set;

/**
 * One thing in the pool, as JSON.
 *
 * @param id as its path has it
 * @param place its place among things of its kind
 */
record Resource(String id, NaturalOrder place, JsonObject json) {
  /** What grows by itself, and is no change. */
  private static final Set<String> AGES =
      Set.of("ageMillis", "grantedGpuNanos", "idleMillis", "upMillis", "waitedMillis");

  /** The same without what changes by itself, here and in what it holds. */
  JsonObject lasting() {
    return lasting(json);
  }

  private static JsonObject lasting(JsonObject json) {
    JsonObject lasting = new JsonObject();
    json.entrySet().stream()
        .filter(field -> !AGES.contains(field.getKey()))
        .forEach(field -> lasting.add(field.getKey(), lasting(field.getValue())));
    return lasting;
  }

  private static JsonElement lasting(JsonElement json) {
    if (json.isJsonObject()) {
      return lasting(json.getAsJsonObject());
    }
    if (!json.isJsonArray()) {
      return json;
    }
    JsonArray array = new JsonArray();
    json.getAsJsonArray().forEach(element -> array.add(lasting(element)));
    return array;
  }

  /** What is changed by people has a revision, which they can insist on. */
  EntityTag tag() {
    EntityTag tag = EntityTag.of(lasting().toString());
    return json.has("revision") ? tag.withRevision(json.get("revision").getAsLong()) : tag;
  }
}
