// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.health;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * A line of the watching process.
 *
 * @param type {@code sample} or {@code fault}
 * @param fields its values, by name
 */
public record Reading(String type, Map<String, String> fields) {
  public Reading {
    fields = Map.copyOf(fields);
  }

  /** Reads {@code TYPE key=value ...}; empty for a line that is none of these. */
  static Optional<Reading> parse(String line) {
    String[] words = line.strip().split(" ");
    Map<String, String> fields = new HashMap<>();
    for (int i = 1; i < words.length; i++) {
      int equals = words[i].indexOf('=');
      if (equals > 0) {
        fields.put(words[i].substring(0, equals), words[i].substring(equals + 1));
      }
    }
    boolean isKnown = words[0].equals("sample") || words[0].equals("fault");
    return isKnown && fields.containsKey("uuid")
        ? Optional.of(new Reading(words[0], fields))
        : Optional.empty();
  }

  String uuid() {
    return fields.getOrDefault("uuid", "");
  }

  /** A field of several words; empty if it was not told. */
  public List<String> list(String field) {
    String text = fields.get(field);
    return text == null ? List.of() : List.of(text.split(","));
  }

  /** A field that is a number; empty if it was not told. */
  public OptionalLong number(String field) {
    String text = fields.get(field);
    try {
      return text == null ? OptionalLong.empty() : OptionalLong.of(Long.parseLong(text));
    } catch (NumberFormatException e) {
      return OptionalLong.empty();
    }
  }
}
