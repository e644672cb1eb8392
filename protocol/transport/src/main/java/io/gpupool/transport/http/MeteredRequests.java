// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport.http;

import com.sun.net.httpserver.Filter;
import com.sun.net.httpserver.HttpExchange;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.io.IOException;
import java.util.function.Function;

/**
 * A filter that measures how long requests take, by method, route and status. The routes must be
 * few: a path of its own for each thing would be a metric of its own for each thing.
 */
public final class MeteredRequests extends Filter {
  private static final String NAME = "http.server.requests";

  private final MeterRegistry registry;
  private final Function<HttpExchange, String> route;

  public MeteredRequests(MeterRegistry registry, Function<HttpExchange, String> route) {
    this.registry = registry;
    this.route = route;
  }

  @Override
  public void doFilter(HttpExchange exchange, Chain chain) throws IOException {
    Timer.Sample sample = Timer.start(registry);
    try {
      chain.doFilter(exchange);
    } finally {
      sample.stop(
          Timer.builder(NAME)
              .description("Time that answers to HTTP requests took")
              .tag("method", method(exchange))
              .tag("uri", route.apply(exchange))
              .tag("status", Integer.toString(exchange.getResponseCode()))
              .register(registry));
    }
  }

  /** Of strangers' own methods there may be any number. */
  private static String method(HttpExchange exchange) {
    String method = exchange.getRequestMethod();
    return switch (method) {
      case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS" -> method;
      default -> "other";
    };
  }

  @Override
  public String description() {
    return "how long requests take";
  }
}
