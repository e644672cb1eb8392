// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.resource;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.protobuf.Descriptors.FieldDescriptor;
import io.gpupool.control.v1.FieldProperties;
import io.gpupool.control.v1.PoolOuterClass;
import io.gpupool.rest.http.EntityTag;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * A resource of the pool as JSON.
 *
 * @param id the id in its path
 * @param place its place among resources of its kind
 */
record Resource(String id, NaturalOrder place, JsonObject json) {
  /** The names of fields that grow by themselves, which is no change. */
  private static final Set<String> GROWING =
      PoolOuterClass.getDescriptor().getMessageTypes().stream()
          .flatMap(message -> message.getFields().stream())
          .filter(field -> field.getOptions().getExtension(FieldProperties.grows))
          .map(FieldDescriptor::getJsonName)
          .collect(Collectors.toSet());

  /** Returns the JSON without fields that grow by themselves, at any depth. */
  JsonObject lasting() {
    return lasting(json);
  }

  private static JsonObject lasting(JsonObject json) {
    JsonObject lasting = new JsonObject();
    json.entrySet().stream()
        .filter(field -> !GROWING.contains(field.getKey()))
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

  /** Returns the tag, with the revision of a resource that people change and can insist on. */
  EntityTag tag() {
    EntityTag tag = EntityTag.of(lasting().toString());
    return json.has("revision") ? tag.withRevision(json.get("revision").getAsLong()) : tag;
  }
}
