// SPDX-License-Identifier: Apache-2.0
package io.gpupool.json;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import com.google.protobuf.Descriptors.EnumValueDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Message;
import com.google.protobuf.ProtocolMessageEnum;
import io.gpupool.control.v1.RejectionReason;
import io.gpupool.rejection.RejectionText;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;

/**
 * Messages of the control plane as JSON: every field is there that can always be told, and numbers
 * are numbers, whereas protobuf's own mapping writes those of 64 bits as strings. Constants are
 * written as people do: {@code read-only}.
 */
public final class JsonForm {
  private static final Gson PRETTY =
      new GsonBuilder().setPrettyPrinting().disableHtmlEscaping().serializeNulls().create();

  private static final Pattern WORD = Pattern.compile("_([a-z])");

  private JsonForm() {}

  /** Returns the form of a list of messages. */
  public static JsonArray of(List<? extends Message> messages) {
    return array(messages);
  }

  /** Returns the text of a form, in lines for people. */
  public static String text(JsonElement form) {
    return PRETTY.toJson(form);
  }

  /** Returns the form of a message. A rejection reason has its sentence beside its facts. */
  public static JsonObject of(Message message) {
    JsonObject object = new JsonObject();
    if (message instanceof RejectionReason reason) {
      object.addProperty("message", RejectionText.of(reason, JsonForm::fieldName));
    }
    for (FieldDescriptor field : message.getDescriptorForType().getFields()) {
      if (field.hasPresence() && !message.hasField(field)) {
        continue;
      }
      Object value = message.getField(field);
      if (message instanceof RejectionReason.InvalidField invalid
          && field.getName().equals("field")) {
        value = fieldName(invalid.getField());
      }
      object.add(field.getJsonName(), field.isRepeated() ? array((List<?>) value) : form(value));
    }
    return object;
  }

  /**
   * Sets the fields that an object has; they must fit the message, as the document's schema says.
   */
  public static void into(JsonObject object, Message.Builder message) {
    for (FieldDescriptor field : message.getDescriptorForType().getFields()) {
      JsonElement value = object.get(field.getJsonName());
      if (value == null) {
        continue;
      }
      if (field.isRepeated()) {
        value
            .getAsJsonArray()
            .forEach(element -> message.addRepeatedField(field, value(element, field, message)));
      } else {
        message.setField(field, value(value, field, message));
      }
    }
  }

  private static Object value(JsonElement json, FieldDescriptor field, Message.Builder message) {
    return switch (field.getJavaType()) {
      case STRING -> json.getAsString();
      case BOOLEAN -> json.getAsBoolean();
      // Those without a sign may be over the largest int.
      case INT -> (int) json.getAsBigDecimal().longValueExact();
      case LONG -> json.getAsBigDecimal().longValueExact();
      case DOUBLE -> json.getAsDouble();
      case ENUM -> constant(json.getAsString(), field);
      case MESSAGE -> {
        Message.Builder inner = message.newBuilderForField(field);
        into(json.getAsJsonObject(), inner);
        yield inner.build();
      }
      case FLOAT, BYTE_STRING ->
          throw new IllegalArgumentException("no form for " + field.getFullName());
    };
  }

  private static EnumValueDescriptor constant(String text, FieldDescriptor field) {
    return field.getEnumType().getValues().stream()
        .filter(constant -> text(constant).equals(text))
        .findFirst()
        .orElseThrow();
  }

  /** Returns the name that a message's field has in JSON: {@code memoryBytes}. */
  public static String fieldName(String field) {
    return WORD.matcher(field).replaceAll(word -> word.group(1).toUpperCase(Locale.ROOT));
  }

  /** Returns a constant as its JSON has it, such as {@code read-only}. */
  public static String text(ProtocolMessageEnum constant) {
    return constant instanceof Enum<?> named && named.name().equals("UNRECOGNIZED")
        ? "unknown"
        : text(constant.getValueDescriptor());
  }

  /** Returns a constant without the name of its type, which protobuf wants before it. */
  public static String text(EnumValueDescriptor constant) {
    if (constant.getIndex() < 0) {
      return "unknown";
    }
    String type = constant.getType().getName().replaceAll("(?<=[a-z])(?=[A-Z])", "_");
    return constant
        .getName()
        .substring(type.length() + 1)
        .toLowerCase(Locale.ROOT)
        .replace('_', '-');
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
      case EnumValueDescriptor constant -> new JsonPrimitive(text(constant));
      // JSON has no name for what is no number.
      case Double number when !Double.isFinite(number) -> new JsonPrimitive(0);
      case Number number -> new JsonPrimitive(number);
      default -> throw new IllegalArgumentException("no form for " + value.getClass());
    };
  }
}
