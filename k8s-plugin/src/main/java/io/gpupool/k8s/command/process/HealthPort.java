// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.command.process;

import com.sun.net.httpserver.HttpExchange;
import io.gpupool.transport.http.HttpAnswer;
import io.gpupool.transport.http.HttpPort;
import io.gpupool.transport.metrics.MeterPage;
import io.gpupool.transport.metrics.ProcessMeters;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * The HTTP port for the kubelet's probes and for Prometheus: {@code GET /healthz}, {@code /readyz}
 * and {@code /metrics}.
 */
public final class HealthPort implements AutoCloseable {
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
    HttpPort http = HttpPort.open(new InetSocketAddress(port), null, "gpupool-health-");
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
        HttpAnswer.text(405, "allowed methods: GET, HEAD").send(exchange);
        return;
      }
      answer(exchange.getRequestURI().getPath()).send(exchange);
    }
  }

  private HttpAnswer answer(String path) {
    return switch (path) {
      case "/healthz" -> answer(broken);
      case "/readyz" -> answer(unready);
      case "/metrics" ->
          new HttpAnswer(
              200, MeterPage.TYPE, meters.page(name -> true).getBytes(StandardCharsets.UTF_8));
      default -> HttpAnswer.text(404, "there are /healthz, /readyz and /metrics");
    };
  }

  private static HttpAnswer answer(Supplier<Optional<String>> check) {
    Optional<String> problem = check.get();
    return HttpAnswer.text(problem.isEmpty() ? 200 : 503, problem.orElse("ok"));
  }

  @Override
  public void close() {
    http.close();
  }
}
