// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** How the page's files are served; what they do is seen in a browser elsewhere. */
class PageTest {
  private static final Path FILES = Path.of("src/main/resources/io/gpupool/rest/page");
  private static final Pattern NAMED =
      Pattern.compile("(?:from|import|href=|src=) ?['\"]([^'\"#]+)['\"]");

  private RestServer server;
  private Client client;

  @BeforeEach
  void start() throws Exception {
    SamplePool pool = new SamplePool(1);
    server = pool.serve(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    client = new Client(server.port());
  }

  @AfterEach
  void stop() {
    server.close();
  }

  @Test
  void page_withoutAToken_isServedUnderAStrictPolicy() throws Exception {
    HttpResponse<String> page = client.send("GET", "/");
    assertThat(page.statusCode()).isEqualTo(200);
    assertThat(page.headers().firstValue("Content-Type")).contains("text/html; charset=utf-8");
    assertThat(page.headers().firstValue("Content-Security-Policy").orElseThrow())
        .contains("default-src 'none'", "script-src 'self'", "frame-ancestors 'none'")
        .doesNotContain("unsafe", "*", "http");
    assertThat(page.headers().firstValue("X-Content-Type-Options")).contains("nosniff");
    assertThat(page.body()).startsWith("<!doctype html>");
  }

  @Test
  void page_whatItsFilesName_isAllThereAndNothingElseIs() throws Exception {
    Set<String> served = new TreeSet<>(Set.of("/"));
    Deque<String> open = new ArrayDeque<>(served);
    while (!open.isEmpty()) {
      String path = open.pop();
      HttpResponse<String> file = client.send("GET", path);
      assertThat(file.statusCode()).as(path).isEqualTo(200);
      NAMED
          .matcher(file.body())
          .results()
          .map(found -> URI.create(path).resolve(found.group(1)).toString())
          .filter(served::add)
          .forEach(open::add);
    }
    served.remove("/");
    served.add("/page/index.html");
    assertThat(served.remove("/page/js/declared.js")).as("the module that is generated").isTrue();
    try (Stream<Path> files = Files.walk(FILES)) {
      assertThat(served)
          .containsExactlyInAnyOrderElementsOf(
              files
                  .filter(Files::isRegularFile)
                  .map(file -> "/page/" + FILES.relativize(file))
                  .toList());
    }
  }

  @ParameterizedTest
  @CsvSource({
    "/page/js/main.js, text/javascript; charset=utf-8",
    "/page/style/base.css, text/css; charset=utf-8",
    "/page/icon.svg, image/svg+xml",
  })
  void file_known_isNotSentAgain(String path, String type) throws Exception {
    HttpResponse<String> first = client.send("GET", path);
    assertThat(first.headers().firstValue("Content-Type")).contains(type);
    String tag = first.headers().firstValue("ETag").orElseThrow();
    HttpResponse<String> again = client.send("GET", path, "If-None-Match", "\"other\", W/" + tag);
    assertThat(again.statusCode()).isEqualTo(304);
    assertThat(again.body()).isEmpty();
    HttpResponse<String> other = client.send("GET", path, "If-None-Match", "\"other\"");
    assertThat(other.body()).isEqualTo(first.body());
    HttpResponse<String> head = client.send("HEAD", path);
    assertThat(head.headers().firstValueAsLong("Content-Length"))
        .hasValue(first.body().getBytes(StandardCharsets.UTF_8).length);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/page/PageFile.class",
        "/page/../openapi.json",
        "/page/%2e%2e/openapi.json",
        "/page/js/../../openapi.json",
        "/page//index.html",
        "/page/",
        "/page/js",
        "/index.html",
      })
  void file_notOfThePage_isNotServed(String path) throws Exception {
    assertThat(client.get(path).statusCode()).isEqualTo(404);
  }

  @Test
  void page_byAnyOtherMethod_isRefused() throws Exception {
    for (String method : List.of("POST", "PUT", "DELETE", "OPTIONS")) {
      HttpResponse<String> answer = client.send(method, "/");
      assertThat(answer.statusCode()).isEqualTo(405);
      assertThat(answer.headers().firstValue("Allow")).contains("GET, HEAD");
    }
  }
}
