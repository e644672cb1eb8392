// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;
import static org.awaitility.Awaitility.await;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.gpupool.server.FreePort;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A server's metrics in a real Prometheus, and every query of the dashboard there. */
class PrometheusIT {
  private static final Path DASHBOARD = Distribution.ROOT.resolve("deploy/grafana/gpupool.json");
  private static final Optional<ServerImage> IMAGE =
      ServerImage.of("GPUPOOL_TEST_PROMETHEUS_IMAGE");
  private static final HttpClient HTTP = HttpClient.newHttpClient();

  @TempDir Path folder;
  private int port;

  @Test
  void dashboard_everyQuery_isAnsweredByPrometheus() throws Exception {
    assumeInstalled("promtool");
    if (IMAGE.isEmpty()) {
      assumeInstalled("prometheus");
    }
    List<String> queries = queries();
    assertThat(queries).hasSizeGreaterThan(25);
    String[] options = {"--state", folder.resolve("state").toString()};
    try (Pool pool = Pool.start("soft:1,mem=4Gi", options);
        AutoCloseable _ = prometheus(pool.httpPort())) {
      assertThat(pool.gpupool("tenant", "create", "vision", "--gpus", "2").status()).isZero();
      assertThat(
              pool.run(
                      new String[] {"-m", "1Gi"},
                      CPrograms.example("vector_add"),
                      Distribution.KERNELS)
                  .run()
                  .status())
          .isZero();
      try (Program holder =
          pool.run(new String[] {"-m", "1Gi"}, "sh", "-c", "echo held; exec cat").start()) {
        holder.awaitLine("held"::equals);
        assertThat(pool.run(new String[] {"-m", "9Gi"}, "true").run().status()).isEqualTo(2);
        String text = get("http://127.0.0.1:" + pool.httpPort() + "/metrics");
        Path scraped = Files.writeString(folder.resolve("metrics.txt"), text);
        Program.Ended checked = Program.of("sh", "-c", "promtool check metrics < " + scraped).run();
        assertThat(checked.status())
            .as("promtool: %s%s", checked.output(), checked.errors())
            .isZero();
        await()
            .atMost(Duration.ofSeconds(120))
            .pollInterval(Duration.ofMillis(500))
            .pollInSameThread()
            // As long as it does not listen, or replays what it has.
            .ignoreExceptions()
            .untilAsserted(() -> {
              for (String query : queries) {
                assertThat(series(query)).as(query).isNotEmpty();
              }
            });
      }
    }
  }

  private static void assumeInstalled(String tool) {
    assumeThat(Program.of("sh", "-c", "command -v " + tool).run().status())
        .as("%s is not installed (apt-get install prometheus)", tool)
        .isZero();
  }

  /** A process, or a container where there is an image to make one of. */
  private AutoCloseable prometheus(int httpPort) throws IOException {
    port = FreePort.find();
    Path configuration =
        Files.writeString(
            folder.resolve("prometheus.yml"),
            """
            global:
              scrape_interval: 1s
              scrape_timeout: 1s
            scrape_configs:
              - job_name: gpupool
                static_configs:
                  - targets: ["127.0.0.1:%d"]
            """
                .formatted(httpPort));
    List<String> options =
        List.of(
            "--config.file=" + configuration,
            "--storage.tsdb.path=" + folder.resolve("series"),
            "--web.listen-address=127.0.0.1:" + port);
    if (IMAGE.isPresent()) {
      return IMAGE.get().start(folder, "prometheus", options);
    }
    List<String> command = new ArrayList<>(List.of("prometheus"));
    command.addAll(options);
    return Program.of(command.toArray()).start();
  }

  /** What a panel asks, with all servers and tenants, over a few seconds. */
  private static List<String> queries() throws IOException {
    JsonObject dashboard = JsonParser.parseString(Files.readString(DASHBOARD)).getAsJsonObject();
    List<String> queries = new ArrayList<>();
    for (JsonElement panel : dashboard.getAsJsonArray("panels")) {
      for (JsonElement target : panel.getAsJsonObject().getAsJsonArray("targets")) {
        queries.add(
            target
                .getAsJsonObject()
                .get("expr")
                .getAsString()
                .replace("$__rate_interval", "10s")
                .replaceAll("\\$\\w+", ".*"));
      }
    }
    return queries;
  }

  private JsonArray series(String query) throws Exception {
    String answer =
        get(
            "http://127.0.0.1:"
                + port
                + "/api/v1/query?query="
                + URLEncoder.encode(query, StandardCharsets.UTF_8));
    JsonObject json = JsonParser.parseString(answer).getAsJsonObject();
    assertThat(json.get("status").getAsString()).as("%s: %s", query, answer).isEqualTo("success");
    return json.getAsJsonObject("data").getAsJsonArray("result");
  }

  private static String get(String url) throws Exception {
    return HTTP.send(
            HttpRequest.newBuilder(URI.create(url)).build(), HttpResponse.BodyHandlers.ofString())
        .body();
  }
}
