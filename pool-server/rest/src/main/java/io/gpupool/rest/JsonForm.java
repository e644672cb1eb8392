// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Message;
import java.util.List;

/**
 * Messages of the control plane as JSON: every field is there, and numbers are numbers, whereas
 * protobuf's own mapping writes those of 64 bits as strings.
 */
final class JsonForm {
  private JsonForm() {}

  static JsonObject of(Message message) {
    JsonObject object = new JsonObject();
    for (FieldDescriptor field : message.getDescriptorForType().getFields()) {
      Object value = message.getField(field);
      object.add(field.getJsonName(), field.isRepeated() ? array((List<?>) value) : form(value));
    }
    return object;
  }

  private static JsonArray array(List<?> values) {
    JsonArray array = new JsonArray();
    values.forEach(value -> array.add(form(value)));
    return array;
  }

  private static JsonElement form(Object value) {
    return switch (value) {
      case Message message -> of(message);
      case String text -> new JsonPrimitive(text);
      case Boolean truth -> new JsonPrimitive(truth);
      // JSON has no name for what is no number.
      case Double number when !Double.isFinite(number) -> new JsonPrimitive(0);
      case Number number -> new JsonPrimitive(number);
      default -> throw new IllegalArgumentException("no form for " + value.getClass());
    };
  }
}
