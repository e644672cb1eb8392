// SPDX-License-Identifier: Apache-2.0
package io.gpupool.wire;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A message of the two local protocols (shim to agent, pool-server to worker): ordered {@code
 * key=value} lines behind an eight-byte header. Immutable.
 *
 * <pre>
 *  0             4                8
 *  +-------------+----------------+------------------------------+
 *  | u32 'GPA1'  | u32 textBytes  | key=value\n key=value\n ...   |
 *  +-------------+----------------+------------------------------+
 * </pre>
 *
 * In values a backslash is written {@code \\} and a newline {@code \n}. A key holds letters,
 * digits, {@code _}, {@code -} and {@code .}, and stands at most once.
 *
 * @param fields the fields in the order in which they are sent
 */
public record TextMessage(Map<String, String> fields) {
  public static final int MAGIC = 0x31415047;
  public static final int HEADER_BYTES = 8;
  public static final int TEXT_BYTES_OFFSET = 4;
  public static final int MAX_TEXT_BYTES = 16384;
  private static final String TYPE = "type";

  public TextMessage {
    fields = Collections.unmodifiableMap(new LinkedHashMap<>(fields));
    fields.forEach((key, value) -> {
      if (!isKey(key)) {
        throw new IllegalArgumentException("not a key: " + key);
      }
      Objects.requireNonNull(value, key);
    });
  }

  /** Starts a message whose first line is {@code type=TYPE}. */
  public static Builder ofType(String type) {
    return new Builder().put(TYPE, type);
  }

  /** The value of {@code type}, or the empty string. */
  public String type() {
    return fields.getOrDefault(TYPE, "");
  }

  public Optional<String> get(String key) {
    return Optional.ofNullable(fields.get(key));
  }

  /** The value of a key that must be there. */
  public String require(String key) throws WireException {
    String value = fields.get(key);
    if (value == null) {
      throw new WireException("message '" + type() + "' lacks the field '" + key + "'");
    }
    return value;
  }

  /** The value of a key that must be there and hold a decimal number from 0 to {@code max}. */
  public long requireNumber(String key, long max) throws WireException {
    String value = require(key);
    try {
      long number = Long.parseLong(value);
      if (number >= 0 && number <= max) {
        return number;
      }
    } catch (NumberFormatException e) {
      // told below, like a number out of range
    }
    throw new WireException(
        "field '" + key + "' of message '" + type() + "' is not a number from 0 to " + max);
  }

  /**
   * The whole message, header included.
   *
   * @throws IllegalArgumentException if the text is longer than {@link #MAX_TEXT_BYTES}
   */
  public byte[] encode() {
    StringBuilder text = new StringBuilder(256);
    fields.forEach((key, value) -> {
      text.append(key).append('=');
      escape(value, text);
      text.append('\n');
    });
    byte[] bytes = text.toString().getBytes(StandardCharsets.UTF_8);
    if (bytes.length > MAX_TEXT_BYTES) {
      throw new IllegalArgumentException(
          "message '" + type() + "' has " + bytes.length + " bytes, limit " + MAX_TEXT_BYTES);
    }
    return ByteBuffer.allocate(HEADER_BYTES + bytes.length)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putInt(MAGIC)
        .putInt(bytes.length)
        .put(bytes)
        .array();
  }

  /**
   * Checks a header and returns the number of text bytes that follow it.
   *
   * @param magic the first word, read little-endian
   * @param textBytes the second word, read little-endian
   */
  public static int checkHeader(int magic, int textBytes) throws WireException {
    if (magic != MAGIC) {
      throw new WireException("not a gpupool message (bad magic)");
    }
    if (textBytes < 0 || textBytes > MAX_TEXT_BYTES) {
      throw new WireException(
          "message of " + Integer.toUnsignedLong(textBytes) + " bytes, limit " + MAX_TEXT_BYTES);
    }
    return textBytes;
  }

  /** Parses the text behind a header. Bytes that are not UTF-8 become the replacement character. */
  public static TextMessage parse(byte[] textBytes) throws WireException {
    String text = new String(textBytes, StandardCharsets.UTF_8);
    Map<String, String> fields = new LinkedHashMap<>();
    int at = 0;
    while (at < text.length()) {
      int end = text.indexOf('\n', at);
      if (end < 0) {
        throw new WireException("last line of a message is not ended");
      }
      int equals = text.indexOf('=', at);
      if (equals < 0 || equals >= end || !isKey(text.substring(at, equals))) {
        throw new WireException("line " + (fields.size() + 1) + " of a message is not key=value");
      }
      String key = text.substring(at, equals);
      if (fields.put(key, unescape(text, equals + 1, end)) != null) {
        throw new WireException("field '" + key + "' stands twice in a message");
      }
      at = end + 1;
    }
    return new TextMessage(fields);
  }

  private static boolean isKey(String key) {
    for (int i = 0; i < key.length(); i++) {
      char c = key.charAt(i);
      boolean letter = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z';
      boolean other = c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.';
      if (!letter && !other) {
        return false;
      }
    }
    return !key.isEmpty();
  }

  private static void escape(String value, StringBuilder out) {
    for (int i = 0; i < value.length(); i++) {
      char c = value.charAt(i);
      switch (c) {
        case '\\' -> out.append("\\\\");
        case '\n' -> out.append("\\n");
        default -> out.append(c);
      }
    }
  }

  private static String unescape(String text, int from, int to) throws WireException {
    int backslash = text.indexOf('\\', from);
    if (backslash < 0 || backslash >= to) {
      return text.substring(from, to);
    }
    StringBuilder value = new StringBuilder(to - from);
    for (int i = from; i < to; i++) {
      char c = text.charAt(i);
      if (c != '\\') {
        value.append(c);
        continue;
      }
      i++;
      char escaped = i < to ? text.charAt(i) : 0;
      switch (escaped) {
        case '\\' -> value.append('\\');
        case 'n' -> value.append('\n');
        default -> throw new WireException("bad escape in a message; only \\\\ and \\n are known");
      }
    }
    return value.toString();
  }

  /** Gathers the fields of a message in order. */
  public static final class Builder {
    private final Map<String, String> fields = new LinkedHashMap<>();

    private Builder() {}

    public Builder put(String key, String value) {
      fields.put(key, value);
      return this;
    }

    public Builder put(String key, long value) {
      return put(key, Long.toString(value));
    }

    /** Puts the field only if there is a value. */
    public Builder putIfPresent(String key, @Nullable String value) {
      return value == null ? this : put(key, value);
    }

    public TextMessage build() {
      return new TextMessage(fields);
    }
  }
}
