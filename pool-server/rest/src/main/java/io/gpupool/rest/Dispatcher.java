// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest;

import com.google.gson.JsonObject;
import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import io.gpupool.rest.call.Call;
import io.gpupool.rest.call.ControlPlaneClient;
import io.gpupool.rest.call.Handler;
import io.gpupool.rest.http.AcceptHeader;
import io.gpupool.rest.http.OriginCheck;
import io.gpupool.rest.http.ProblemException;
import io.gpupool.rest.http.Response;
import io.gpupool.rest.openapi.OpenApi;
import io.gpupool.rest.openapi.Operation;
import io.gpupool.rest.openapi.RequestBody;
import io.gpupool.server.identity.Role;
import io.gpupool.server.tenant.AuthFailureThrottle;
import io.gpupool.transport.metrics.ProcessMeters;
import java.io.IOException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A dispatcher of requests to their operations, as the OpenAPI document describes them. It first
 * checks all that the document specifies. Called by many threads.
 */
final class Dispatcher implements HttpHandler {
  private static final String SCHEME = "bearer ";
  private static final Logger LOG = LoggerFactory.getLogger(Dispatcher.class);

  private final ControlPlaneClient pool;
  private final OriginCheck origins;
  private final AuthFailureThrottle wrong = new AuthFailureThrottle(System::nanoTime);
  private final Map<String, Handler> handlers;

  Dispatcher(ControlPlaneClient pool, OriginCheck origins, ProcessMeters meters) {
    this.pool = pool;
    this.origins = origins;
    handlers = new Handlers(meters).byId();
  }

  /**
   * The path of the operation that a request is for, with names in place of its variables; of the
   * page's files and of what there is not, one name for all.
   */
  static String route(HttpExchange exchange) {
    try {
      return String.join("/", operation(segments(exchange), exchange.getRequestMethod()).path());
    } catch (ProblemException e) {
      return "other";
    }
  }

  private static List<String> segments(HttpExchange exchange) {
    return List.of(exchange.getRequestURI().getRawPath().split("/", -1));
  }

  @Override
  public void handle(HttpExchange exchange) throws IOException {
    try (exchange) {
      Response answer = answer(exchange);
      try {
        send(exchange, answer);
      } finally {
        answer.body().end();
      }
    }
  }

  private Response answer(HttpExchange exchange) throws IOException {
    try {
      Call call = check(exchange);
      Operation operation = call.operation();
      // Whatever the document does not open takes a token of its role, before its handler runs.
      Role least = operation.role();
      if (least != null) {
        authorise(call, least);
      }
      Handler handler = Objects.requireNonNull(handlers.get(operation.id()));
      return handler.answer(call.with(RequestBody.of(exchange, operation)));
    } catch (ProblemException e) {
      return isWrongToken(exchange, e) ? wrongToken(exchange, e) : e.answer();
    } catch (RuntimeException e) {
      LOG.error("{} {} failed", exchange.getRequestMethod(), exchange.getRequestURI(), e);
      return new ProblemException(500, "the server has failed; its log says how").answer();
    }
  }

  private static boolean isWrongToken(HttpExchange exchange, ProblemException problem) {
    return problem.status() == 401 && token(exchange.getRequestHeaders()).isPresent();
  }

  /** Returns the problem, later if its address has shown many wrong tokens. */
  private Response wrongToken(HttpExchange exchange, ProblemException problem) {
    switch (wrong.note(exchange.getRemoteAddress())) {
      case NOW -> {}
      case TOO_MANY -> {
        return new ProblemException(
                429,
                "too many wrong tokens come from this address; try again later",
                Map.of("Retry-After", "60"))
            .answer();
      }
      case LATE -> {
        try {
          Thread.sleep(AuthFailureThrottle.DELAY_MILLIS);
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
        } finally {
          wrong.answered();
        }
      }
    }
    return problem.answer();
  }

  private Call check(HttpExchange exchange) throws ProblemException {
    List<String> segments = segments(exchange);
    String method = exchange.getRequestMethod();
    Operation operation = operation(segments, method);
    Headers headers = exchange.getRequestHeaders();
    if (operation.role() != null) {
      origins.check(headers, !operation.method().equals("GET"));
    }
    if (!operation.mediaTypes().isEmpty()
        && !AcceptHeader.anyOf(operation.mediaTypes(), headers.getOrDefault("Accept", List.of()))) {
      throw new ProblemException(
          406, "available media types: " + String.join(", ", operation.mediaTypes()));
    }
    return new Call(
        operation,
        operation.variables(segments),
        query(operation, exchange.getRequestURI().getRawQuery()),
        name -> headers.getOrDefault(name, List.of()),
        new JsonObject(),
        token(headers).orElse(null),
        pool);
  }

  private static Operation operation(List<String> segments, String method) throws ProblemException {
    List<Operation> here =
        OpenApi.get().operations().stream()
            .filter(operation -> operation.matches(segments))
            .toList();
    if (here.isEmpty()) {
      throw new ProblemException(
          404, "there is no such path; /api/v1/openapi.json lists those there are");
    }
    Set<String> allowed = new TreeSet<>();
    for (Operation operation : here) {
      if (operation.method().equals(method.equals("HEAD") ? "GET" : method)) {
        return operation;
      }
      allowed.add(operation.method());
    }
    if (allowed.contains("GET")) {
      allowed.add("HEAD");
    }
    String names = String.join(", ", allowed);
    throw new ProblemException(405, "allowed methods: " + names, Map.of("Allow", names));
  }

  private static void authorise(Call call, Role least) throws ProblemException {
    Role role = call.caller().role();
    if (!role.covers(least)) {
      throw new ProblemException(
          403,
          "the role of the token is " + role.text() + ", and this takes " + least.text(),
          Map.of("WWW-Authenticate", "Bearer error=\"insufficient_scope\""));
    }
  }

  private static Map<String, String> query(Operation operation, String raw)
      throws ProblemException {
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
        throw new ProblemException(400, name + " is given twice");
      }
    }
    return query;
  }

  private static Optional<String> token(Headers headers) {
    return Optional.ofNullable(headers.getFirst("Authorization"))
        .filter(value -> value.regionMatches(true, 0, SCHEME, 0, SCHEME.length()))
        .map(value -> value.substring(SCHEME.length()).strip());
  }

  private static void send(HttpExchange exchange, Response answer) throws IOException {
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
