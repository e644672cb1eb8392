// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.page;

import com.sun.net.httpserver.Filter;
import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpExchange;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * A filter that answers requests for the page's files. They are open to all, because the data that
 * they show takes a token. All other requests are passed on. Called by many threads.
 */
public final class PageFilter extends Filter {
  private static final Set<String> METHODS = Set.of("GET", "HEAD");

  /** The page runs its own scripts alone, asks its own server alone, and is in no frame. */
  private static final Map<String, String> HEADERS =
      Map.of(
          "Content-Security-Policy",
          "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self';"
              + " connect-src 'self'; base-uri 'none'; form-action 'none';"
              + " frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
          "X-Content-Type-Options",
          "nosniff",
          "Referrer-Policy",
          "no-referrer",
          "Cross-Origin-Opener-Policy",
          "same-origin",
          "Cross-Origin-Resource-Policy",
          "same-origin",
          // Kept, but asked for each time: files of two versions never meet.
          "Cache-Control",
          "no-cache");

  @Override
  public String description() {
    return "the web page";
  }

  @Override
  public void doFilter(HttpExchange exchange, Chain chain) throws IOException {
    Optional<PageFile> file = PageFile.at(exchange.getRequestURI().getRawPath());
    if (file.isEmpty()) {
      chain.doFilter(exchange);
      return;
    }
    try (exchange) {
      answer(exchange, file.get());
    }
  }

  private static void answer(HttpExchange exchange, PageFile file) throws IOException {
    Headers headers = exchange.getResponseHeaders();
    HEADERS.forEach(headers::set);
    if (!METHODS.contains(exchange.getRequestMethod())) {
      headers.set("Allow", "GET, HEAD");
      exchange.sendResponseHeaders(405, -1);
      return;
    }
    headers.set("ETag", file.tag());
    if (file.isKnown(exchange.getRequestHeaders().getOrDefault("If-None-Match", List.of()))) {
      exchange.sendResponseHeaders(304, -1);
      return;
    }
    headers.set("Content-Type", file.contentType());
    if (exchange.getRequestMethod().equals("HEAD")) {
      headers.set("Content-Length", Integer.toString(file.bytes().length));
      exchange.sendResponseHeaders(200, -1);
      return;
    }
    exchange.sendResponseHeaders(200, file.bytes().length);
    exchange.getResponseBody().write(file.bytes());
  }
}
