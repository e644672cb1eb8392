// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoUnit;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/**
 * A metadata service that speaks as those of AWS, Google Cloud and Azure, refuses requests that
 * they would refuse, and has one machine, {@code gpu-1}, which it announces to take away.
 */
final class SpotMetadata implements AutoCloseable {
  private static final String TOKEN = "c2VjcmV0";
  private static final String BEFORE = "before";

  private final CompletableFuture<Instant> announced = new CompletableFuture<>();
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final HttpServer server;

  SpotMetadata() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setExecutor(threads);
    server.createContext("/latest/api/token", this::token);
    server.createContext("/latest/meta-data/spot/instance-action", this::action);
    server.createContext("/computeMetadata/v1/instance/preempted", this::preempted);
    server.createContext("/metadata/instance/compute/name", this::name);
    server.createContext("/metadata/scheduledevents", this::events);
    server.start();
  }

  String url() {
    return "http://127.0.0.1:" + server.getAddress().getPort();
  }

  /** Announces that the machine is taken away in so long. */
  void announce(Duration ahead) {
    announced.complete(Instant.now().plus(ahead).truncatedTo(ChronoUnit.SECONDS));
  }

  private void token(HttpExchange exchange) throws IOException {
    boolean isGood =
        exchange.getRequestMethod().equals("PUT")
            && header(exchange, "X-aws-ec2-metadata-token-ttl-seconds").matches("[1-9][0-9]{0,4}");
    answer(exchange, isGood ? 200 : 400, isGood ? TOKEN : "bad request");
  }

  private void action(HttpExchange exchange) throws IOException {
    if (!header(exchange, "X-aws-ec2-metadata-token").equals(TOKEN)) {
      answer(exchange, 401, "unauthorized");
    } else if (announced.isDone()) {
      answer(
          exchange,
          200,
          "{\"action\": \"terminate\", \"time\": \"%s\"}".formatted(announced.join()));
    } else {
      answer(exchange, 404, "not found");
    }
  }

  private void preempted(HttpExchange exchange) throws IOException {
    if (!header(exchange, "Metadata-Flavor").equals("Google")) {
      answer(exchange, 403, "forbidden");
      return;
    }
    String query = String.valueOf(exchange.getRequestURI().getQuery());
    if (query.contains("wait_for_change=true") && query.contains("last_etag=" + BEFORE)) {
      long seconds = Long.parseLong(query.replaceFirst(".*timeout_sec=([0-9]+).*", "$1"));
      announced.copy().completeOnTimeout(Instant.EPOCH, seconds, TimeUnit.SECONDS).join();
    }
    exchange.getResponseHeaders().set("Metadata-Flavor", "Google");
    exchange.getResponseHeaders().set("ETag", announced.isDone() ? "after" : BEFORE);
    answer(exchange, 200, announced.isDone() ? "TRUE" : "FALSE");
  }

  private void name(HttpExchange exchange) throws IOException {
    answerAzure(exchange, Map.of("api-version", "2021-02-01", "format", "text"), "gpu-1");
  }

  private void events(HttpExchange exchange) throws IOException {
    String event =
        !announced.isDone()
            ? ""
            : """
            {"EventId": "f020ba2e", "EventType": "Preempt", "ResourceType": "VirtualMachine",
              "Resources": ["gpu-1"], "EventStatus": "Scheduled", "NotBefore": "%s",
              "Description": "", "EventSource": "Platform"}
            """
                .formatted(
                    DateTimeFormatter.RFC_1123_DATE_TIME.format(
                        announced.join().atOffset(ZoneOffset.UTC)));
    answerAzure(
        exchange,
        Map.of("api-version", "2020-07-01"),
        "{\"DocumentIncarnation\": 1, \"Events\": [" + event + "]}");
  }

  private static void answerAzure(HttpExchange exchange, Map<String, String> asked, String text)
      throws IOException {
    String query = exchange.getRequestURI().getQuery();
    boolean isGood =
        header(exchange, "Metadata").equals("true")
            && asked.entrySet().stream()
                .allMatch(each -> query.contains(each.getKey() + "=" + each.getValue()));
    answer(exchange, isGood ? 200 : 400, isGood ? text : "bad request");
  }

  private static String header(HttpExchange exchange, String name) {
    String value = exchange.getRequestHeaders().getFirst(name);
    return value == null ? "" : value;
  }

  private static void answer(HttpExchange exchange, int status, String text) throws IOException {
    byte[] body = text.getBytes(UTF_8);
    exchange.sendResponseHeaders(status, body.length);
    exchange.getResponseBody().write(body);
    exchange.close();
  }

  @Override
  public void close() {
    server.stop(0);
    threads.shutdownNow();
  }
}
