// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.gpupool.e2e.rest.AccessScan;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Iterator;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A server's HTTP port, asked while a program holds a lease. */
class RestIT {
  private static final Pattern URL = Pattern.compile("curl .*http://gpu-1:7640([^ '\"]+).*");
  private static final Path GUIDE = Distribution.ROOT.resolve("docs/reference/rest.md");

  private final HttpClient http = HttpClient.newHttpClient();
  @TempDir private Path folder;

  @Test
  void http_programHoldsALease_showsItAndItsEnd() throws Exception {
    String[] half = {"-p", "0.5"};
    try (Pool pool =
        Pool.start("soft:2,mem=1Gi", "--auth", "tokens", "--state", folder.toString())) {
      String token = Files.readString(folder.resolve("admin.token")).strip();
      assertThat(get(pool, "/healthz", "").statusCode()).isEqualTo(200);
      await()
          .atMost(Duration.ofSeconds(30))
          .untilAsserted(() -> assertThat(get(pool, "/readyz", "").statusCode()).isEqualTo(200));
      assertThat(get(pool, "/api/v1/gpus", "").statusCode()).isEqualTo(401);
      assertThat(get(pool, "/api/v1/gpus", "gpupool_wrong").statusCode()).isEqualTo(401);
      assertThat(items(pool, "/api/v1/gpus", token)).hasSize(2);
      assertGuideWorks(pool, token);

      HttpResponse<Stream<String>> stream =
          http.send(request(pool, "/api/v1/events?kind=leases", token), BodyHandlers.ofLines());
      try (Stream<String> lines = stream.body()) {
        Iterator<String> changes =
            lines
                .filter(line -> line.startsWith("data: "))
                .map(line -> object(line.substring("data: ".length())))
                .map(event -> event.get("change").getAsString())
                .iterator();
        try (Program program =
            pool.run(half, "sh", "-c", "echo started; exec cat")
                .with("GPUPOOL_TOKEN", token)
                .start()) {
          program.awaitLine("started"::equals);
          JsonObject lease =
              items(pool, "/api/v1/leases?state=held", token).get(0).getAsJsonObject();
          assertThat(get(pool, "/api/v1/leases/" + lease.get("id").getAsString(), token).body())
              .contains("\"memoryBytes\":" + (512L << 20));
          assertThat(get(pool, "/metrics", token).body())
              .contains("gpupool_leases{state=\"held\"} 1.0");
          assertThat(changes.next()).isEqualTo("added");
          program.endInput();
          program.awaitEnd();
        }
        while (!changes.next().equals("removed")) {}
      }
      assertThat(items(pool, "/api/v1/leases", token)).isEmpty();
      assertThat(new AccessScan("http://127.0.0.1:" + pool.httpPort(), token).faults()).isEmpty();
    }
  }

  /** What the operator's page asks for is there. */
  private void assertGuideWorks(Pool pool, String token) throws Exception {
    List<String> paths =
        Files.readAllLines(GUIDE).stream()
            .map(URL::matcher)
            .filter(Matcher::matches)
            .map(matcher -> matcher.group(1))
            .toList();
    assertThat(paths).hasSizeGreaterThanOrEqualTo(5);
    for (String path : paths) {
      HttpResponse<InputStream> answer =
          http.send(request(pool, path, token), BodyHandlers.ofInputStream());
      answer.body().close();
      assertThat(answer.statusCode()).as(path).isEqualTo(200);
    }
  }

  private JsonArray items(Pool pool, String path, String token) throws Exception {
    return object(get(pool, path, token).body()).getAsJsonArray("items");
  }

  private HttpResponse<String> get(Pool pool, String path, String token)
      throws IOException, InterruptedException {
    return http.send(request(pool, path, token), BodyHandlers.ofString());
  }

  private static HttpRequest request(Pool pool, String path, String token) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + pool.httpPort() + path));
    if (!token.isEmpty()) {
      request.header("Authorization", "Bearer " + token);
    }
    return request.build();
  }

  private static JsonObject object(String json) {
    return JsonParser.parseString(json).getAsJsonObject();
  }
}
