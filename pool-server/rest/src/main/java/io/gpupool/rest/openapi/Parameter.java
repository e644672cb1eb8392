// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.openapi;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import io.gpupool.rest.http.ProblemException;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.OptionalInt;
import java.util.Set;

/**
 * A query parameter of an operation.
 *
 * @param field the path of the field that it filters by; empty: it is no filter
 * @param values the allowed values; empty: any
 * @param number whether the value is a number, within the bounds
 */
public record Parameter(
    String name, String field, Set<String> values, boolean number, int minimum, int maximum) {
  static Parameter of(JsonObject json) {
    JsonObject schema = json.getAsJsonObject("schema");
    Set<String> values = new LinkedHashSet<>();
    if (schema.has("enum")) {
      for (JsonElement value : schema.getAsJsonArray("enum")) {
        values.add(value.getAsString());
      }
    }
    if (schema.get("type").getAsString().equals("boolean")) {
      values.addAll(List.of("true", "false"));
    }
    boolean number = schema.get("type").getAsString().equals("integer");
    return new Parameter(
        json.get("name").getAsString(),
        json.has("x-field") ? json.get("x-field").getAsString() : "",
        values,
        number,
        number ? schema.get("minimum").getAsInt() : 0,
        bound(schema, number ? "maximum" : "maxLength").orElse(Integer.MAX_VALUE));
  }

  /** Refuses a value that the document does not allow. */
  public void check(String value) throws ProblemException {
    if (!values.isEmpty() && !values.contains(value)) {
      throw new ProblemException(400, name + " is one of " + String.join(", ", values));
    }
    if (number ? !isWithinBounds(value) : value.length() > maximum) {
      throw new ProblemException(
          400,
          number
              ? name + " is a number from " + minimum + " to " + maximum
              : name + " has over " + maximum + " characters");
    }
  }

  private boolean isWithinBounds(String value) {
    try {
      int given = Integer.parseInt(value);
      return given >= minimum && given <= maximum;
    } catch (NumberFormatException e) {
      return false;
    }
  }

  private static OptionalInt bound(JsonObject schema, String name) {
    return schema.has(name) ? OptionalInt.of(schema.get(name).getAsInt()) : OptionalInt.empty();
  }
}
