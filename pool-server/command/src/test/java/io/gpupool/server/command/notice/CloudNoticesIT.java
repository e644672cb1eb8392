// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.command.notice;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The notices of clouds, as a metadata service gives them, and answers that are none. */
class CloudNoticesIT {
  private static final Instant NOW = Instant.parse("2026-11-20T12:00:00Z");
  private static final String TOKEN = "/latest/api/token";
  private static final String ACTION = "/latest/meta-data/spot/instance-action";
  private static final String PREEMPTED = "/computeMetadata/v1/instance/preempted";
  private static final String NAME = "/metadata/instance/compute/name";
  private static final String EVENTS = "/metadata/scheduledevents";

  /** What the service says to a path; a path that is not here is not found. */
  private record Said(int status, String text) {}

  private final Map<String, Said> answers = new ConcurrentHashMap<>();
  private final Map<String, String> headers = new ConcurrentHashMap<>();
  private final List<String> asked = new ArrayList<>();
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private HttpServer server;
  private MetadataService service;

  @BeforeEach
  void start() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setExecutor(threads);
    server.createContext("/", this::answer);
    server.start();
    service = new MetadataService(address());
  }

  @AfterEach
  void stop() {
    server.stop(0);
    threads.shutdownNow();
  }

  private URI address() {
    return URI.create("http://127.0.0.1:" + server.getAddress().getPort());
  }

  private synchronized void answer(HttpExchange exchange) throws IOException {
    URI uri = exchange.getRequestURI();
    asked.add(exchange.getRequestMethod() + " " + uri);
    headers.forEach(exchange.getResponseHeaders()::set);
    Said said = answers.getOrDefault(uri.getPath(), new Said(404, "not found"));
    byte[] body = said.text().getBytes(UTF_8);
    exchange.sendResponseHeaders(said.status(), body.length);
    exchange.getResponseBody().write(body);
    exchange.close();
  }

  private void say(String path, String text) {
    answers.put(path, new Said(200, text));
  }

  private NoticeSource azure() {
    say(NAME, "gpu-1");
    return new AzureNotices(service, InstantSource.fixed(NOW));
  }

  private static String event(String type, String resource, String notBefore) {
    return """
    {"DocumentIncarnation": 3, "Events": [{"EventId": "1", "EventType": "%s",
      "ResourceType": "VirtualMachine", "Resources": ["gpu-0", "%s"],
      "EventStatus": "Scheduled", "NotBefore": "%s"}]}
    """
        .formatted(type, resource, notBefore);
  }

  private NoticeSource google() {
    headers.put("Metadata-Flavor", "Google");
    return new GcpNotices(service, InstantSource.fixed(NOW));
  }

  @Test
  void aws_instanceAction_isTheNoticeWithItsTime() throws Exception {
    say(TOKEN, "secret");
    NoticeSource aws = new AwsNotices(service);
    assertThat(aws.look()).isEmpty();
    say(ACTION, "{\"action\": \"terminate\", \"time\": \"2026-11-20T12:02:00Z\"}");
    assertThat(aws.look().flatMap(notice -> Optional.ofNullable(notice.at())))
        .contains(NOW.plusSeconds(120));
    assertThat(asked).containsExactly("PUT " + TOKEN, "GET " + ACTION, "GET " + ACTION);
  }

  @Test
  void aws_tokenIsTooOld_getsAnother() throws Exception {
    say(TOKEN, "secret");
    NoticeSource aws = new AwsNotices(service);
    assertThat(aws.look()).isEmpty();
    answers.put(ACTION, new Said(401, ""));
    assertThatThrownBy(aws::look).hasMessageContaining("status 401");
    assertThat(asked).filteredOn(("PUT " + TOKEN)::equals).hasSize(2);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"", "[]", "null", "{}", "{\"time\": \"soon\"}", "{\"time\": 3}", "<html>", "{"})
  void aws_answerOfAnotherForm_isAnErrorAndNoNotice(String text) {
    say(TOKEN, "secret");
    say(ACTION, text);
    assertThatThrownBy(new AwsNotices(service)::look)
        .isInstanceOf(IOException.class)
        .hasMessageContaining(ACTION + " answers something that cannot be read");
  }

  @Test
  void gcp_preempted_isTheNoticeOfHalfAMinute() throws Exception {
    NoticeSource gcp = google();
    say(PREEMPTED, "FALSE\n");
    headers.put("ETag", "a b");
    assertThat(gcp.look()).isEmpty();
    say(PREEMPTED, "TRUE\n");
    assertThat(gcp.look().flatMap(notice -> Optional.ofNullable(notice.at())))
        .contains(NOW.plusSeconds(30));
    assertThat(asked)
        .containsExactly(
            "GET " + PREEMPTED,
            "GET " + PREEMPTED + "?wait_for_change=true&timeout_sec=60&last_etag=a+b");
  }

  @Test
  void gcp_serviceOfSomebodyElse_isAnError() {
    NoticeSource gcp = google();
    headers.clear();
    say(PREEMPTED, "TRUE");
    assertThatThrownBy(gcp::look).isInstanceOf(IOException.class).hasMessageContaining("Google");
  }

  @Test
  void azure_preemptOfThisMachine_isTheNoticeWithItsTime() throws Exception {
    NoticeSource azure = azure();
    say(EVENTS, "{\"DocumentIncarnation\": 1, \"Events\": []}");
    assertThat(azure.look()).isEmpty();
    say(EVENTS, event("Preempt", "GPU-1", "Fri, 20 Nov 2026 12:00:30 GMT"));
    assertThat(azure.look().flatMap(notice -> Optional.ofNullable(notice.at())))
        .contains(NOW.plusSeconds(30));
  }

  @Test
  void azure_eventThatHasBegun_isNow() throws Exception {
    NoticeSource azure = azure();
    say(EVENTS, event("Terminate", "gpu-1", ""));
    assertThat(azure.look().flatMap(notice -> Optional.ofNullable(notice.at()))).contains(NOW);
  }

  @Test
  void azure_otherEventsAndOtherMachines_areNoNotice() throws Exception {
    NoticeSource azure = azure();
    say(EVENTS, event("Freeze", "gpu-1", "Fri, 20 Nov 2026 12:00:30 GMT"));
    assertThat(azure.look()).isEmpty();
    say(EVENTS, event("Preempt", "gpu-10", "Fri, 20 Nov 2026 12:00:30 GMT"));
    assertThat(azure.look()).isEmpty();
  }

  @ParameterizedTest
  @EnumSource
  void cloud_endlessAnswer_isAnErrorAndNoNotice(Cloud cloud) {
    headers.put("Metadata-Flavor", "Google");
    for (String path : List.of(TOKEN, ACTION, PREEMPTED, NAME, EVENTS)) {
      say(path, "x".repeat(1 << 20));
    }
    assertThatThrownBy(cloud.notices(address())::look).isInstanceOf(IOException.class);
  }

  @ParameterizedTest
  @EnumSource
  void cloud_silentService_isAnErrorInTime(Cloud cloud) {
    synchronized (this) {
      long beginNanos = System.nanoTime();
      assertThatThrownBy(cloud.notices(address())::look)
          .isInstanceOf(IOException.class)
          .hasMessageContaining("does not answer within 4 s");
      assertThat(Duration.ofNanos(System.nanoTime() - beginNanos))
          .isLessThan(Duration.ofSeconds(20));
    }
  }

  @ParameterizedTest
  @EnumSource
  void cloud_noService_isAnErrorThatNamesTheAddress(Cloud cloud) {
    URI address = address();
    server.stop(0);
    assertThatThrownBy(cloud.notices(address)::look)
        .isInstanceOf(IOException.class)
        .hasMessageContaining(address + "/")
        .hasMessageContaining("cannot be reached");
  }
}
