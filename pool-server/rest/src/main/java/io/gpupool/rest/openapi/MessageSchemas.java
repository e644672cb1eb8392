// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.openapi;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import io.gpupool.control.v1.Admin;
import io.gpupool.control.v1.FieldProperties;
import io.gpupool.control.v1.PoolOuterClass;
import io.gpupool.json.JsonForm;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * The schemas of messages in their JSON form. A schema of the document that names a message in
 * {@code x-message} is generated from the message's descriptor; its other members, which only the
 * document can know, are added.
 */
final class MessageSchemas {
  private static final String MESSAGE = "x-message";
  private static final List<FileDescriptor> FILES =
      List.of(PoolOuterClass.getDescriptor(), Admin.getDescriptor());

  private final MessageComments comments = MessageComments.load();

  /** The names of schemas by the messages that they are generated from. */
  private final Map<Descriptor, String> names = new HashMap<>();

  private final JsonObject schemas;

  private MessageSchemas(JsonObject schemas) {
    this.schemas = schemas;
    schemas
        .entrySet()
        .forEach(schema -> {
          JsonElement message = schema.getValue().getAsJsonObject().get(MESSAGE);
          if (message != null) {
            names.put(message(message.getAsString()), schema.getKey());
          }
        });
  }

  /** Completes the schemas that are generated from messages. */
  static void complete(JsonObject schemas) {
    new MessageSchemas(schemas).complete();
  }

  private void complete() {
    names.forEach((message, name) -> {
      JsonObject written = schemas.getAsJsonObject(name);
      written.remove(MESSAGE);
      JsonObject schema = schema(message);
      merge(written, schema);
      schemas.add(name, schema);
    });
  }

  private static Descriptor message(String name) {
    return FILES.stream()
        .map(file -> file.findMessageTypeByName(name))
        .filter(Objects::nonNull)
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException("there is no message " + name));
  }

  private JsonObject schema(Descriptor message) {
    JsonObject properties = new JsonObject();
    JsonArray required = new JsonArray();
    for (FieldDescriptor field : message.getFields()) {
      properties.add(field.getJsonName(), property(field));
      if (!field.toProto().getProto3Optional() && field.getContainingOneof() == null) {
        required.add(field.getJsonName());
      }
    }
    JsonObject schema = new JsonObject();
    schema.addProperty("type", "object");
    schema.addProperty("description", comments.of(message));
    schema.addProperty("additionalProperties", false);
    schema.add("required", required);
    schema.add("properties", properties);
    return schema;
  }

  private JsonObject property(FieldDescriptor field) {
    JsonObject property = type(field);
    if (field.isRepeated()) {
      JsonObject array = new JsonObject();
      array.addProperty("type", "array");
      array.add("items", property);
      property = array;
    }
    if (!property.has("$ref")) {
      property.addProperty("description", description(field));
    }
    return property;
  }

  private String description(FieldDescriptor field) {
    boolean grows = field.getOptions().getExtension(FieldProperties.grows);
    return comments.of(field) + (grows ? "; does not count as a change" : "");
  }

  private JsonObject type(FieldDescriptor field) {
    JsonObject type = new JsonObject();
    switch (field.getType()) {
      case MESSAGE -> type.addProperty("$ref", reference(field.getMessageType()));
      case STRING -> type.addProperty("type", "string");
      case BOOL -> type.addProperty("type", "boolean");
      case DOUBLE -> type.addProperty("type", "number");
      case INT32, SINT32 -> integer(type, "int32");
      case INT64, SINT64 -> integer(type, "int64");
      case UINT32, UINT64 -> {
        integer(type, "int64");
        type.addProperty("minimum", 0);
      }
      case ENUM -> {
        type.addProperty("type", "string");
        type.add("enum", constants(field));
      }
      default -> throw new IllegalArgumentException("no schema for " + field.getFullName());
    }
    return type;
  }

  /** Returns a reference to a message's schema, which the document may have under its own name. */
  private String reference(Descriptor message) {
    return "#/components/schemas/" + names.getOrDefault(message, message.getName());
  }

  private static void integer(JsonObject type, String format) {
    type.addProperty("type", "integer");
    type.addProperty("format", format);
  }

  /** Returns the constants of an enum but the one that stands for none. */
  private static JsonArray constants(FieldDescriptor field) {
    JsonArray constants = new JsonArray();
    field.getEnumType().getValues().stream()
        .filter(constant -> constant.getNumber() != 0)
        .forEach(constant -> constants.add(JsonForm.text(constant)));
    return constants;
  }

  private static void merge(JsonObject added, JsonObject into) {
    added
        .entrySet()
        .forEach(member -> {
          JsonElement there = into.get(member.getKey());
          if (there != null && there.isJsonObject()) {
            merge(member.getValue().getAsJsonObject(), there.getAsJsonObject());
          } else {
            into.add(member.getKey(), member.getValue());
          }
        });
  }
}
