// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest;

import com.sun.net.httpserver.HttpExchange;
import io.gpupool.server.view.PoolReader;
import io.gpupool.transport.http.HttpAnswer;
import io.gpupool.transport.http.HttpPort;
import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * A port for health checks alone: in clear text and without tokens, so that a prober needs nothing,
 * and with connections and threads of its own. Each request has a virtual thread of its own.
 */
public final class HealthServer implements AutoCloseable {
  private static final long PATIENCE_MILLIS = 2000;

  private final HttpPort http;
  private final PoolReader pool;

  private HealthServer(HttpPort http, PoolReader pool) {
    this.http = http;
    this.pool = pool;
  }

  /**
   * Opens the port.
   *
   * @throws IOException if it is taken; the message is for people
   */
  public static HealthServer start(PoolReader pool, InetSocketAddress address) throws IOException {
    try {
      HttpPort http = HttpPort.open(address, null, "gpupool-health-");
      HealthServer made = new HealthServer(http, pool);
      http.serve(made::handle);
      return made;
    } catch (BindException e) {
      throw new IOException(
          "cannot open health port "
              + address.getPort()
              + " ("
              + e.getMessage()
              + "); give another with --health-port",
          e);
    }
  }

  public int port() {
    return http.port();
  }

  private void handle(HttpExchange exchange) throws IOException {
    try (exchange) {
      String method = exchange.getRequestMethod();
      if (!method.equals("GET") && !method.equals("HEAD")) {
        exchange.getResponseHeaders().set("Allow", "GET, HEAD");
        HttpAnswer.text(405, "allowed methods: GET, HEAD").send(exchange);
        return;
      }
      answer(exchange.getRequestURI().getPath()).send(exchange);
    }
  }

  private HttpAnswer answer(String path) {
    return switch (path) {
      case "/healthz" -> answer(trouble().filter(Trouble::isDeath).orElse(null));
      case "/readyz" -> answer(trouble().orElse(null));
      default -> HttpAnswer.text(404, "this port has /healthz and /readyz");
    };
  }

  /**
   * A reason why the server is not healthy.
   *
   * @param isDeath whether only a restart helps
   */
  private record Trouble(String reason, boolean isDeath) {}

  private Optional<Trouble> trouble() {
    try {
      return pool.trouble()
          .get(PATIENCE_MILLIS, TimeUnit.MILLISECONDS)
          .map(reason -> new Trouble(reason, false));
    } catch (TimeoutException e) {
      return Optional.of(new Trouble("the server's control thread does not answer", true));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return Optional.of(new Trouble("the server is stopping", true));
    } catch (ExecutionException e) {
      return Optional.of(new Trouble("the server has failed: " + e.getCause(), true));
    }
  }

  private static HttpAnswer answer(@Nullable Trouble trouble) {
    return trouble == null ? HttpAnswer.text(200, "ok") : HttpAnswer.text(503, trouble.reason());
  }

  @Override
  public void close() {
    http.close();
  }
}
