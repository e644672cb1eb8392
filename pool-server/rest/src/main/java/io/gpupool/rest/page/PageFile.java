// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.page;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A file of the web page.
 *
 * @param tag its ETag, which stays the same as long as the bytes do
 */
record PageFile(String contentType, byte[] bytes, String tag) {
  private static final String FIRST = "/";
  private static final Pattern PATH = Pattern.compile("/page/((?:[a-z-]+/)*[a-z-]+\\.([a-z]+))");
  private static final Map<String, String> TYPES =
      Map.of(
          "html", "text/html; charset=utf-8",
          "css", "text/css; charset=utf-8",
          "js", "text/javascript; charset=utf-8",
          "svg", "image/svg+xml");
  private static final int TAG_BYTES = 12;

  /** Returns the file at a request's path, which is taken as it came; empty: there is none. */
  static Optional<PageFile> at(String path) throws IOException {
    Matcher name = PATH.matcher(path.equals(FIRST) ? "/page/index.html" : path);
    if (!name.matches() || !TYPES.containsKey(name.group(2))) {
      return Optional.empty();
    }
    if (name.group(1).equals(DeclaredModule.PATH)) {
      byte[] module = DeclaredModule.text().getBytes(StandardCharsets.UTF_8);
      return Optional.of(of(TYPES.get(name.group(2)), module));
    }
    try (InputStream in = PageFile.class.getResourceAsStream(name.group(1))) {
      return in == null
          ? Optional.empty()
          : Optional.of(of(TYPES.get(name.group(2)), in.readAllBytes()));
    }
  }

  private static PageFile of(String contentType, byte[] bytes) {
    try {
      byte[] digest = MessageDigest.getInstance("SHA-256").digest(bytes);
      String tag = HexFormat.of().formatHex(Arrays.copyOf(digest, TAG_BYTES));
      return new PageFile(contentType, bytes, "\"" + tag + "\"");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Returns whether the If-None-Match header of a request lists this file. */
  boolean isKnown(Iterable<String> headers) {
    for (String known : String.join(",", headers).split(",")) {
      String text = known.strip();
      if (text.equals("*") || text.equals(tag) || text.equals("W/" + tag)) {
        return true;
      }
    }
    return false;
  }
}
