// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest;

import com.google.gson.JsonElement;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/**
 * An answer to a request.
 *
 * @param length of the body in bytes; negative: not known in advance
 */
record Response(
    int status, String contentType, Map<String, String> headers, long length, Body body) {
  /** Writes a body; whoever calls it closes the stream. */
  interface Body {
    void writeTo(OutputStream out) throws IOException;

    /** Whatever became of it, it is over; called once. */
    default void end() {}
  }

  static Response json(
      int status, String contentType, JsonElement json, Map<String, String> headers) {
    return text(status, contentType, json.toString(), headers);
  }

  static Response text(int status, String contentType, String text, Map<String, String> headers) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    return new Response(status, contentType, headers, bytes.length, out -> out.write(bytes));
  }

  /** Done, and there is no more to say. */
  static Response nothing(int status) {
    return new Response(status, "", Map.of("Cache-Control", "no-store"), 0, out -> {});
  }

  /** Where a thing is to be had. */
  static String path(ResourceCollection source, String id) {
    StringBuilder path = new StringBuilder("/api/v1/").append(source.name());
    for (String segment : id.split("/", -1)) {
      path.append('/')
          .append(URLEncoder.encode(segment, StandardCharsets.UTF_8).replace("+", "%20"));
    }
    return path.toString();
  }

  /** The caller has it already. */
  static Response notModified(Map<String, String> headers) {
    return new Response(304, "", headers, 0, out -> {});
  }

  static Response stream(String contentType, Body body) {
    return new Response(200, contentType, Map.of(), -1, body);
  }
}
