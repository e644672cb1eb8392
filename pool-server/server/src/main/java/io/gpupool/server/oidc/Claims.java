// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.oidc;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import com.google.gson.Strictness;
import com.google.gson.stream.JsonReader;
import com.google.gson.stream.JsonToken;
import java.io.IOException;
import java.io.StringReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The fields of a JSON object from elsewhere, none of which need be as expected. */
record Claims(JsonObject json) {
  /** Reads one object and nothing after it; empty if it is something else. */
  static Optional<Claims> parse(String text) {
    try (JsonReader reader = new JsonReader(new StringReader(text))) {
      reader.setStrictness(Strictness.STRICT);
      JsonElement element = JsonParser.parseReader(reader);
      return element.isJsonObject() && reader.peek() == JsonToken.END_DOCUMENT
          ? Optional.of(new Claims(element.getAsJsonObject()))
          : Optional.empty();
    } catch (IOException | JsonParseException e) {
      return Optional.empty();
    }
  }

  boolean has(String name) {
    return json.has(name);
  }

  Optional<String> text(String name) {
    return text(json.get(name));
  }

  /** Whole seconds since 1970; empty also where it is no such number. */
  Optional<Long> seconds(String name) {
    JsonElement value = json.get(name);
    if (value == null || !value.isJsonPrimitive() || !value.getAsJsonPrimitive().isNumber()) {
      return Optional.empty();
    }
    double seconds = value.getAsDouble();
    return seconds >= 0 && seconds < 1e11 ? Optional.of((long) seconds) : Optional.empty();
  }

  /**
   * The text, or the texts of the list, that a name stands for; where there is no such name, one
   * with dots leads through objects: {@code realm_access.roles}.
   */
  List<String> texts(String path) {
    @Nullable JsonElement value = json.get(path);
    if (value == null) {
      value = json;
      for (String step : path.split("\\.")) {
        value = value instanceof JsonObject object ? object.get(step) : null;
      }
    }
    List<String> texts = new ArrayList<>();
    if (value instanceof JsonArray list) {
      list.forEach(each -> text(each).ifPresent(texts::add));
    } else {
      text(value).ifPresent(texts::add);
    }
    return texts;
  }

  Optional<Claims> object(String name) {
    return json.get(name) instanceof JsonObject object
        ? Optional.of(new Claims(object))
        : Optional.empty();
  }

  List<Claims> objects(String name) {
    List<Claims> objects = new ArrayList<>();
    if (json.get(name) instanceof JsonArray list) {
      for (JsonElement each : list) {
        if (each instanceof JsonObject object) {
          objects.add(new Claims(object));
        }
      }
    }
    return objects;
  }

  private static Optional<String> text(@Nullable JsonElement value) {
    return value != null && value.isJsonPrimitive() && value.getAsJsonPrimitive().isString()
        ? Optional.of(value.getAsString())
        : Optional.empty();
  }
}
