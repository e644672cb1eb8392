// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.admission;

import com.sun.net.httpserver.HttpExchange;
import io.gpupool.transport.http.HttpAnswer;
import io.gpupool.transport.http.HttpPort;
import io.gpupool.transport.tls.TlsContext;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.Locale;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The HTTPS server that the API server calls: {@code POST /mutate}, and {@code GET /healthz} for
 * probes. Each request has its own virtual thread.
 */
public final class WebhookServer implements AutoCloseable {
  static final int MAX_BODY_BYTES = 3 << 20;
  private static final String JSON = "application/json";
  private static final Logger LOG = LoggerFactory.getLogger(WebhookServer.class);

  private final HttpPort http;
  private final Admission admission;

  private WebhookServer(HttpPort http, Admission admission) {
    this.http = http;
    this.admission = admission;
  }

  /**
   * Opens the port.
   *
   * @param tls stays the caller's, to be closed after this; one that follows its files serves new
   *     certificates without a restart
   * @throws IOException if the port is taken
   */
  public static WebhookServer start(InetSocketAddress address, TlsContext tls, Admission admission)
      throws IOException {
    HttpPort http = HttpPort.open(address, tls, "gpupool-webhook-");
    WebhookServer made = new WebhookServer(http, admission);
    http.serve(made::handle);
    return made;
  }

  public int port() {
    return http.port();
  }

  /** Breaks off requests in progress. */
  @Override
  public void close() {
    http.close();
  }

  private void handle(HttpExchange exchange) throws IOException {
    try (exchange) {
      HttpAnswer answer;
      try {
        answer = answer(exchange);
      } catch (RuntimeException | StackOverflowError e) {
        LOG.error("a review failed", e);
        answer = HttpAnswer.text(500, "the webhook has failed; its log says how");
      }
      answer.send(exchange);
    }
  }

  private HttpAnswer answer(HttpExchange exchange) throws IOException {
    String method = exchange.getRequestMethod();
    return switch (exchange.getRequestURI().getPath()) {
      case "/healthz" ->
          method.equals("GET") || method.equals("HEAD")
              ? HttpAnswer.text(200, "ok")
              : notAllowed(exchange, "GET, HEAD");
      case "/mutate" -> method.equals("POST") ? mutate(exchange) : notAllowed(exchange, "POST");
      default -> HttpAnswer.text(404, "there are POST /mutate and GET /healthz");
    };
  }

  private static HttpAnswer notAllowed(HttpExchange exchange, String allowed) {
    exchange.getResponseHeaders().set("Allow", allowed);
    return HttpAnswer.text(405, "allowed methods: " + allowed);
  }

  private HttpAnswer mutate(HttpExchange exchange) throws IOException {
    String header = exchange.getRequestHeaders().getFirst("Content-Type");
    String type = header == null ? "" : header.split(";", 2)[0].strip().toLowerCase(Locale.ROOT);
    if (!type.equals(JSON)) {
      return HttpAnswer.text(
          415, "the body must be JSON; say so with 'Content-Type: " + JSON + "'");
    }
    byte[] body = exchange.getRequestBody().readNBytes(MAX_BODY_BYTES + 1);
    if (body.length > MAX_BODY_BYTES) {
      return HttpAnswer.text(413, "the body has over " + MAX_BODY_BYTES + " bytes");
    }
    try {
      return new HttpAnswer(200, JSON, admission.answer(body));
    } catch (MalformedReviewException e) {
      LOG.warn("no review: {}", e.getMessage());
      return HttpAnswer.text(400, String.valueOf(e.getMessage()));
    }
  }
}
