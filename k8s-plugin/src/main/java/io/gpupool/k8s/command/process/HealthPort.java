// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.command.process;

import com.sun.net.httpserver.HttpExchange;
import io.gpupool.transport.http.HttpPort;
import io.gpupool.transport.metrics.MeterPage;
import io.gpupool.transport.metrics.ProcessMeters;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The HTTP port for the kubelet's probes and for Prometheus: {@code GET /healthz}, {@code /readyz}
 * and {@code /metrics}.
 */
public final class HealthPort implements AutoCloseable {
  private static final String TEXT = "text/plain; charset=utf-8";

  private final HttpPort http;
  private final Supplier<Optional<String>> broken;
  private final Supplier<Optional<String>> unready;
  private final ProcessMeters meters;

  private HealthPort(
      HttpPort http,
      Supplier<Optional<String>> broken,
      Supplier<Optional<String>> unready,
      ProcessMeters meters) {
    this.http = http;
    this.broken = broken;
    this.unready = unready;
    this.meters = meters;
  }

  /**
   * Opens the port.
   *
   * @param broken why the process has to be restarted to do its work; empty: it need not be
   * @param unready why the process cannot do its work at the moment; empty: it can
   * @throws IOException if the port is taken
   */
  public static HealthPort open(
      int port,
      Supplier<Optional<String>> broken,
      Supplier<Optional<String>> unready,
      ProcessMeters meters)
      throws IOException {
    HttpPort http = HttpPort.open(new InetSocketAddress(port), Optional.empty(), "gpupool-health-");
    HealthPort made = new HealthPort(http, broken, unready, meters);
    http.serve(made::handle);
    return made;
  }

  public int port() {
    return http.port();
  }

  private void handle(HttpExchange exchange) throws IOException {
    try (exchange) {
      String method = exchange.getRequestMethod();
      if (!method.equals("GET") && !method.equals("HEAD")) {
        exchange.getResponseHeaders().set("Allow", "GET, HEAD");
        answer(exchange, 405, TEXT, "allowed methods: GET\n");
        return;
      }
      switch (exchange.getRequestURI().getPath()) {
        case "/healthz" -> answer(exchange, broken.get().orElse(null));
        case "/readyz" -> answer(exchange, unready.get().orElse(null));
        case "/metrics" -> answer(exchange, 200, MeterPage.TYPE, meters.page(name -> true));
        default -> answer(exchange, 404, TEXT, "there are /healthz, /readyz and /metrics\n");
      }
    }
  }

  private static void answer(HttpExchange exchange, @Nullable String problem) throws IOException {
    answer(
        exchange,
        problem == null ? 200 : 503,
        TEXT,
        Objects.requireNonNullElse(problem, "ok") + "\n");
  }

  private static void answer(HttpExchange exchange, int status, String type, String text)
      throws IOException {
    byte[] body = text.getBytes(StandardCharsets.UTF_8);
    exchange.getResponseHeaders().set("Content-Type", type);
    boolean head = exchange.getRequestMethod().equals("HEAD");
    exchange.sendResponseHeaders(status, head ? -1 : body.length);
    if (!head) {
      exchange.getResponseBody().write(body);
    }
  }

  @Override
  public void close() {
    http.close();
  }
}
