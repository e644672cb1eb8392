// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e.rest;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;

/** Makes JSON by the schemas of a document, and spoils it. */
final class JsonMaker {
  private static final List<String> NUMBERS =
      List.of("-1", "0", "1e400", "-1e-400", "9223372036854775808", "1e99999", "0.5", "4294967296");
  private static final List<String> TEXTS =
      List.of(
          "",
          " ",
          "\u0000",
          "a/b",
          "../..",
          "%2e",
          "\ud83d\ude00",
          "x".repeat(5000),
          "admin",
          "\n");
  private final JsonObject document;
  private final Random random;
  private final List<String> names;

  JsonMaker(JsonObject document, Random random, List<String> names) {
    this.document = document;
    this.random = random;
    this.names = names;
  }

  JsonElement make(JsonObject given) {
    JsonObject schema = resolve(given);
    if (schema.has("enum")) {
      return any(schema.getAsJsonArray("enum").asList());
    }
    return switch (schema.get("type").getAsString()) {
      case "object" -> object(schema);
      case "array" -> {
        JsonArray array = new JsonArray();
        for (int i = random.nextInt(3); i > 0; i--) {
          array.add(make(schema.getAsJsonObject("items")));
        }
        yield array;
      }
      case "string" -> new JsonPrimitive(text(schema));
      case "boolean" -> new JsonPrimitive(random.nextBoolean());
      default -> number(schema);
    };
  }

  /** Something that the schema most probably does not allow. */
  JsonElement spoil(JsonElement json) {
    if (json.isJsonObject() && !json.getAsJsonObject().isEmpty() && random.nextInt(5) > 0) {
      JsonObject object = json.getAsJsonObject().deepCopy();
      String name = any(new ArrayList<>(object.keySet()));
      switch (random.nextInt(3)) {
        case 0 -> object.remove(name);
        case 1 -> object.add(name + "x", object.get(name));
        default -> object.add(name, spoil(object.get(name)));
      }
      return object;
    }
    return switch (random.nextInt(6)) {
      case 0 -> JsonNull.INSTANCE;
      case 1 -> new JsonPrimitive(any(TEXTS));
      case 2 -> new JsonPrimitive(new BigDecimal(any(NUMBERS)));
      case 3 -> new JsonArray();
      case 4 -> nested();
      default -> new JsonPrimitive(random.nextBoolean());
    };
  }

  private JsonElement nested() {
    JsonElement nested = new JsonArray();
    for (int i = random.nextInt(2000); i > 0; i--) {
      JsonArray outer = new JsonArray();
      outer.add(nested);
      nested = outer;
    }
    return nested;
  }

  private JsonObject object(JsonObject schema) {
    JsonObject object = new JsonObject();
    if (schema.has("properties")) {
      for (Map.Entry<String, JsonElement> field : schema.getAsJsonObject("properties").entrySet()) {
        boolean required =
            schema.has("required")
                && schema.getAsJsonArray("required").contains(new JsonPrimitive(field.getKey()));
        if (required || random.nextInt(3) == 0) {
          object.add(field.getKey(), make(field.getValue().getAsJsonObject()));
        }
      }
    }
    return object;
  }

  private String text(JsonObject schema) {
    if (schema.has("pattern")) {
      return "n" + random.nextInt(8);
    }
    return random.nextInt(4) == 0 || names.isEmpty() ? "n" + random.nextInt(8) : any(names);
  }

  private JsonPrimitive number(JsonObject schema) {
    double least = schema.has("minimum") ? schema.get("minimum").getAsDouble() : -1000;
    double most = schema.has("maximum") ? schema.get("maximum").getAsDouble() : 1000;
    // Small ones are those of which much is possible.
    double top = random.nextInt(4) == 0 ? most : Math.min(most, Math.max(least, 1) * 64);
    double value = least + random.nextDouble() * (top - least);
    return schema.get("type").getAsString().equals("integer")
        ? new JsonPrimitive((long) value)
        : new JsonPrimitive(value);
  }

  /** What a reference of the document stands for; else the object itself. */
  JsonObject resolve(JsonObject object) {
    if (!object.has("$ref")) {
      return object;
    }
    JsonObject at = document;
    for (String name : object.get("$ref").getAsString().substring(2).split("/")) {
      at = at.getAsJsonObject(name);
    }
    return at;
  }

  private <T> T any(List<T> of) {
    return of.get(random.nextInt(of.size()));
  }
}
