// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;

/** The entity tag of an answer. It is weak: answers that differ in ages alone have the same. */
record Tag(String opaque) {
  private static final int BYTES = 12;

  static Tag of(String lasting) {
    try {
      byte[] digest =
          MessageDigest.getInstance("SHA-256").digest(lasting.getBytes(StandardCharsets.UTF_8));
      return new Tag("\"" + HexFormat.of().formatHex(Arrays.copyOf(digest, BYTES)) + "\"");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Whether it is in what an If-None-Match header lists. */
  boolean isAmong(List<String> headers) {
    for (String known : String.join(",", headers).split(",")) {
      String tag = known.strip();
      if (tag.equals("*") || opaque.equals(tag.startsWith("W/") ? tag.substring(2) : tag)) {
        return true;
      }
    }
    return false;
  }

  Map<String, String> headers() {
    return Map.of("ETag", "W/" + opaque, "Cache-Control", "private, no-cache");
  }
}
