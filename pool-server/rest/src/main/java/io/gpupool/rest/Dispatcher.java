// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest;

import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import io.gpupool.server.PoolReader;
import io.gpupool.server.PoolSnapshot;
import java.io.IOException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Leads requests to their operations as the OpenAPI document says, once all is checked that the
 * document can tell. Called by many threads.
 */
final class Dispatcher implements HttpHandler {
  private static final String SCHEME = "bearer ";
  private static final PoolSnapshot NOTHING =
      new PoolSnapshot(List.of(), List.of(), List.of(), List.of(), List.of());
  private static final String METHODS = "GET, HEAD";
  private static final Logger LOG = LoggerFactory.getLogger(Dispatcher.class);

  private final PoolReader pool;
  private final Map<String, Handler> handlers = new Handlers().byId();

  Dispatcher(PoolReader pool) {
    this.pool = pool;
  }

  @Override
  public void handle(HttpExchange exchange) throws IOException {
    try (exchange) {
      send(exchange, answer(exchange));
    }
  }

  private Answer answer(HttpExchange exchange) {
    try {
      Call call = check(exchange);
      // Whatever the document does not open takes a token, before its handler runs.
      PoolSnapshot seen = call.operation().open() ? NOTHING : call.snapshot();
      return handlers.get(call.operation().id()).answer(call, seen);
    } catch (Problem e) {
      return e.answer();
    } catch (RuntimeException e) {
      LOG.error("{} {} failed", exchange.getRequestMethod(), exchange.getRequestURI(), e);
      return new Problem(500, "the server has failed; its log says how").answer();
    }
  }

  private Call check(HttpExchange exchange) throws Problem {
    List<String> segments = List.of(exchange.getRequestURI().getRawPath().split("/", -1));
    Operation operation =
        OpenApi.get().operations().stream()
            .filter(candidate -> candidate.matches(segments))
            .findFirst()
            .orElseThrow(() ->
                new Problem(
                    404, "there is no such path; /api/v1/openapi.json lists those there are"));
    String method = exchange.getRequestMethod();
    if (!method.equals(operation.method()) && !method.equals("HEAD")) {
      throw new Problem(405, "this can be read only", Map.of("Allow", METHODS));
    }
    Headers headers = exchange.getRequestHeaders();
    if (!Accepted.anyOf(operation.mediaTypes(), headers.getOrDefault("Accept", List.of()))) {
      throw new Problem(406, "this is to be had as " + String.join(", ", operation.mediaTypes()));
    }
    return new Call(
        operation,
        operation.variable(segments).orElse(""),
        query(operation, exchange.getRequestURI().getRawQuery()),
        token(headers),
        headers.getOrDefault("If-None-Match", List.of()),
        pool);
  }

  private static Map<String, String> query(Operation operation, String raw) throws Problem {
    Map<String, String> query = new LinkedHashMap<>();
    if (raw == null || raw.isEmpty()) {
      return query;
    }
    for (String pair : raw.split("&")) {
      String[] parts = pair.split("=", 2);
      String name = URLDecoder.decode(parts[0], StandardCharsets.UTF_8);
      String value = parts.length == 2 ? URLDecoder.decode(parts[1], StandardCharsets.UTF_8) : "";
      operation.parameter(name).check(value);
      if (query.put(name, value) != null) {
        throw new Problem(400, name + " is given twice");
      }
    }
    return query;
  }

  private static Optional<String> token(Headers headers) {
    return Optional.ofNullable(headers.getFirst("Authorization"))
        .filter(value -> value.regionMatches(true, 0, SCHEME, 0, SCHEME.length()))
        .map(value -> value.substring(SCHEME.length()).strip());
  }

  private static void send(HttpExchange exchange, Answer answer) throws IOException {
    Headers headers = exchange.getResponseHeaders();
    answer.headers().forEach(headers::set);
    headers.set("X-Content-Type-Options", "nosniff");
    if (!answer.contentType().isEmpty()) {
      headers.set("Content-Type", answer.contentType());
    }
    boolean isHead = exchange.getRequestMethod().equals("HEAD");
    if (isHead && answer.length() > 0) {
      headers.set("Content-Length", Long.toString(answer.length()));
    }
    if (isHead || answer.length() == 0) {
      exchange.sendResponseHeaders(answer.status(), -1);
      return;
    }
    // Here 0 stands for a body that ends when it ends.
    exchange.sendResponseHeaders(answer.status(), Math.max(0, answer.length()));
    answer.body().writeTo(exchange.getResponseBody());
  }
}
