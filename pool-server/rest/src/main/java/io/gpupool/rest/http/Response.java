// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.http;

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
public record Response(
    int status, String contentType, Map<String, String> headers, long length, Body body) {
  /** Writes a body; whoever calls it closes the stream. */
  public interface Body {
    void writeTo(OutputStream out) throws IOException;

    /** Ends the use of the body, whether or not it was written; called once. */
    default void end() {}
  }

  public static Response json(
      int status, String contentType, JsonElement json, Map<String, String> headers) {
    return text(status, contentType, json.toString(), headers);
  }

  public static Response text(
      int status, String contentType, String text, Map<String, String> headers) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    return new Response(status, contentType, headers, bytes.length, out -> out.write(bytes));
  }

  /** Done, and there is no more to say. */
  public static Response nothing(int status) {
    return new Response(status, "", Map.of("Cache-Control", "no-store"), 0, out -> {});
  }

  /** Returns the path of a resource. */
  public static String path(String collection, String id) {
    StringBuilder path = new StringBuilder("/api/v1/").append(collection);
    for (String segment : id.split("/", -1)) {
      path.append('/')
          .append(URLEncoder.encode(segment, StandardCharsets.UTF_8).replace("+", "%20"));
    }
    return path.toString();
  }

  /** The caller has it already. */
  public static Response notModified(Map<String, String> headers) {
    return new Response(304, "", headers, 0, out -> {});
  }

  public static Response stream(String contentType, Body body) {
    return new Response(200, contentType, Map.of(), -1, body);
  }
}
