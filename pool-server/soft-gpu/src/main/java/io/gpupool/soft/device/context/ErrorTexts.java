// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.context;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/** The names and descriptions of cudaError as kernels can read them; immutable. */
final class ErrorTexts {
  private static final String RESOURCE = "cuda-errors.tsv";
  private static final String UNKNOWN = "unrecognized error code";
  private static final ErrorTexts ALL = read();

  private final Map<Integer, Integer> names = new HashMap<>();
  private final Map<Integer, Integer> descriptions = new HashMap<>();
  private final byte[] bytes;

  private ErrorTexts(String table) {
    ByteArrayOutputStream texts = new ByteArrayOutputStream();
    append(texts, UNKNOWN);
    for (String line : table.lines().filter(text -> !text.startsWith("#")).toList()) {
      String[] fields = line.split("\t");
      int error = Integer.parseInt(fields[0]);
      names.put(error, append(texts, fields[1]));
      descriptions.put(error, append(texts, fields[2]));
    }
    bytes = texts.toByteArray();
  }

  private static int append(ByteArrayOutputStream texts, String text) {
    int start = texts.size();
    texts.writeBytes(text.getBytes(StandardCharsets.US_ASCII));
    texts.write(0);
    return start;
  }

  private static ErrorTexts read() {
    try (InputStream in = ErrorTexts.class.getResourceAsStream(RESOURCE)) {
      return new ErrorTexts(new String(in.readAllBytes(), StandardCharsets.US_ASCII));
    } catch (IOException e) {
      throw new UncheckedIOException("resource " + RESOURCE + " cannot be read", e);
    }
  }

  static ErrorTexts all() {
    return ALL;
  }

  /** All texts, each with a zero behind it. */
  byte[] bytes() {
    return bytes.clone();
  }

  /** Where the name of an error begins. */
  int name(int error) {
    return names.getOrDefault(error, 0);
  }

  /** Where the description of an error begins. */
  int description(int error) {
    return descriptions.getOrDefault(error, 0);
  }
}
