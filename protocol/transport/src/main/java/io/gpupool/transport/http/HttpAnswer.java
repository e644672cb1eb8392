// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport.http;

import com.sun.net.httpserver.HttpExchange;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/** An answer to an HTTP request, with a body in memory. */
public record HttpAnswer(int status, String type, byte[] body) {
  /** Returns an answer of one line of plain text. */
  public static HttpAnswer text(int status, String text) {
    return new HttpAnswer(
        status, "text/plain; charset=utf-8", (text + "\n").getBytes(StandardCharsets.UTF_8));
  }

  /** Sends the answer, without its body if the method is HEAD. */
  public void send(HttpExchange exchange) throws IOException {
    exchange.getResponseHeaders().set("Content-Type", type);
    boolean head = exchange.getRequestMethod().equals("HEAD");
    exchange.sendResponseHeaders(status, head ? -1 : body.length);
    if (!head) {
      exchange.getResponseBody().write(body);
    }
  }
}
