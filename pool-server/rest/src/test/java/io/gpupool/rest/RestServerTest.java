// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.gpupool.control.v1.LeaseClass;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.control.v1.MoveLeaseReply;
import io.gpupool.control.v1.MoveLeaseRequest;
import io.gpupool.control.v1.ResumeLeaseReply;
import io.gpupool.control.v1.ResumeLeaseRequest;
import io.gpupool.control.v1.SuspendLeaseReply;
import io.gpupool.control.v1.SuspendLeaseRequest;
import io.gpupool.control.v1.UpdateLeaseRequest;
import io.gpupool.rest.openapi.OpenApi;
import io.gpupool.rest.openapi.Schema;
import io.grpc.Status;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class RestServerTest {
  private final SamplePool pool = new SamplePool(12);
  private RestServer server;
  private Client client;

  @BeforeEach
  void start() throws Exception {
    server = pool.serve(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    client = new Client(server.port());
  }

  @AfterEach
  void stop() {
    server.close();
  }

  @Test
  void start_portIsTaken_saysWhatToDo() {
    assertThatThrownBy(() ->
            pool.serve(new InetSocketAddress(InetAddress.getLoopbackAddress(), server.port())))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("cannot open HTTP port " + server.port())
        .hasMessageContaining("--http-port");
  }

  @Test
  void metrics_ofTheProcess_areForAdminsAlone() throws Exception {
    assertThat(client.get("/api/v1/leases/L1").statusCode()).isEqualTo(200);
    assertThat(client.get("/metrics").body())
        .contains(
            "gpupool_server_gpus{",
            "jvm_memory_used_bytes{",
            "netty_eventexecutor_tasks_pending{",
            "http_server_requests_seconds_count{method=\"GET\",status=\"200\","
                + "uri=\"/api/v1/leases/{id}\"} 1");
    HttpResponse<String> user =
        client.send("GET", "/metrics", "Authorization", "Bearer " + SamplePool.USER_TOKEN);
    assertThat(user.statusCode()).isEqualTo(200);
    assertThat(user.body()).contains("gpupool_server_gpus{").doesNotContain("jvm_", "http_server");
  }

  @Test
  void leases_pageByPage_areAllThereInTheOrderOfTheirNumbers() throws Exception {
    List<String> ids = new ArrayList<>();
    String path = "/api/v1/leases?limit=5";
    String next = "";
    do {
      JsonObject page = Client.json(client.get(path + next));
      ids.addAll(ids(page));
      next = page.has("next") ? "&cursor=" + page.get("next").getAsString() : "";
    } while (!next.isEmpty());
    assertThat(ids)
        .containsExactlyElementsOf(IntStream.rangeClosed(1, 12).mapToObj(n -> "L" + n).toList());
  }

  @Test
  void leases_lastOfAPageEnds_nextPageGoesOnBehindIt() throws Exception {
    JsonObject first = Client.json(client.get("/api/v1/leases?limit=5"));
    pool.setLeases(IntStream.of(1, 4, 6, 13).mapToObj(SamplePool::lease).toList());
    JsonObject second =
        Client.json(client.get("/api/v1/leases?cursor=" + first.get("next").getAsString()));
    assertThat(ids(second)).containsExactly("L6", "L13");
    assertThat(second.has("next")).isFalse();
  }

  @ParameterizedTest
  @CsvSource({
    "leases?tenant=audio, 4",
    "leases?tenant=audio&state=held, 2",
    "leases?server=gpu-1, 12",
    "leases?server=gpu-2, 0",
    "leases?user=ada&limit=3, 3",
    "gpus?computeCapability=9.0, 2",
    "queue?tenant=nobody, 0",
    "sessions?leaseId=L1, 1",
  })
  void list_filtered_hasThoseAlone(String path, int count) throws Exception {
    assertThat(Client.json(client.get("/api/v1/" + path)).getAsJsonArray("items")).hasSize(count);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "/api/v1/leases?limit=0 | 400 | limit is a number from 1 to 1000",
        "/api/v1/leases?limit=x | 400 | limit is a number from 1 to 1000",
        "/api/v1/leases?cursor=* | 400 | cursor is not one",
        "/api/v1/leases?state=gone | 400 | state is one of held, grace, ending",
        "/api/v1/leases?limit=1&limit=2 | 400 | limit is given twice",
        "/api/v1/leases?colour=red | 400 | there is no such parameter; there are: limit, cursor",
        "/api/v1/events?kind=x | 400 | kind is one of",
        "/api/v1/leases/L99 | 404 | there is none by this id",
        "/api/v1/lease | 404 | there is no such path",
        "/api/v1/leases/ | 404 | there is none by this id",
        "/page/none.js | 404 | there is no such path",
        "/page/../openapi.json | 404 | there is no such path",
      })
  void get_wrong_saysWhatIs(String path, int status, String detail) throws Exception {
    HttpResponse<String> answer = client.get(path);
    assertThat(answer.statusCode()).isEqualTo(status);
    assertThat(answer.headers().firstValue("Content-Type")).contains("application/problem+json");
    assertThat(Client.json(answer).get("detail").getAsString()).contains(detail);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "leases | {\"class\":\"gold\"} | $.class 'gold' is none; it is one of batch, latency",
        "leases | {\"class\":\"Latency\"} | $.class 'Latency' is none; it is one of batch, latency",
        "leases | {\"class\":1} | $.class is to be a string",
        "leases | {\"computePercent\":0} | $.computePercent is below 1",
        "leases | {\"computePercent\":101} | $.computePercent is over 100",
        "leases | {\"resumeWindowMillis\":-1} | $.resumeWindowMillis is below 0",
        "leases | {\"resumeWindowMillis\":3600001} | $.resumeWindowMillis is over 3600000",
        "leases | {\"resumeWindowMillis\":\"5m\"} | $.resumeWindowMillis is to be a",
        "partitions | {\"ref\":{\"gpu\":0,\"name\":\"a\"},\"size\":{\"memoryBytes\":1048576,\"computePercent\":0}}"
            + " | $.size.computePercent is below 1",
        "partitions | {\"ref\":{\"gpu\":0,\"name\":\"a\"},\"size\":{\"memoryBytes\":1048576,\"computePercent\":101}}"
            + " | $.size.computePercent is over 100",
      })
  void post_valueThatCannotBe_isNamedAndGoesNoFurther(String kind, String body, String detail)
      throws Exception {
    pool.plane =
        request -> {
          throw new AssertionError(request);
        };
    HttpResponse<String> answer = client.put("POST", "/api/v1/" + kind, body);
    assertThat(answer.statusCode()).isEqualTo(400);
    assertThat(answer.body()).contains(detail);
  }

  @ParameterizedTest
  @ValueSource(longs = {0, 300_000})
  void post_ofALeaseWithAResumeWindow_asksForItEvenIfItIsNone(long millis) throws Exception {
    List<LeaseRequest> asked = new ArrayList<>();
    pool.plane =
        request -> {
          asked.add((LeaseRequest) request);
          throw Status.UNAVAILABLE.asRuntimeException();
        };
    client.put("POST", "/api/v1/leases", "{\"resumeWindowMillis\":" + millis + "}");
    client.put("POST", "/api/v1/leases", "{}");
    assertThat(asked).extracting(LeaseRequest::hasResumeWindowMillis).containsExactly(true, false);
    assertThat(asked.getFirst().getResumeWindowMillis()).isEqualTo(millis);
  }

  @ParameterizedTest
  @ValueSource(longs = {0, 300_000})
  void get_ofALease_showsItsResumeWindow(long millis) throws Exception {
    pool.setLeases(List.of(SamplePool.lease(1).toBuilder().setResumeWindowMillis(millis).build()));
    assertThat(Client.json(client.get("/api/v1/leases/L1")).get("resumeWindowMillis").getAsLong())
        .isEqualTo(millis);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{} | $ is empty; give some of computePercent (1 to 100), hard (true or false), class (batch or latency)",
        "{\"computePercent\":0} | $.computePercent is below 1 (given: 0; give 1 to 100)",
        "{\"computePercent\":101} | $.computePercent is over 100 (given: 101; give 1 to 100)",
        "{\"computePercent\":\"NaN\"} | $.computePercent is to be a number",
        "{\"computePercent\":NaN} | the body is no JSON",
        "{\"computePercent\":null} | $.computePercent is to be a number",
        "{\"hard\":\"yes\"} | $.hard is to be true or false",
        "{\"class\":\"gold\"} | $.class 'gold' is none; it is one of batch, latency",
        "{\"class\":\"\"} | $.class '' is none; it is one of batch, latency",
        "{\"leaseId\":\"L2\",\"hard\":true} | $.leaseId is not known; there are computePercent, hard, class",
      })
  void patch_ofALease_valueThatCannotBe_isNamedAndGoesNoFurther(String body, String detail)
      throws Exception {
    pool.plane =
        request -> {
          throw new AssertionError(request);
        };
    HttpResponse<String> answer = client.put("PATCH", "/api/v1/leases/L1", body);
    assertThat(answer.statusCode()).isEqualTo(400);
    assertThat(Client.json(answer).get("detail").getAsString()).contains(detail);
  }

  @ParameterizedTest
  @ValueSource(strings = {"application/json", "application/merge-patch+json; charset=utf-8"})
  void patch_ofALease_asksForWhatIsThereAndAnswersTheLease(String type) throws Exception {
    List<Object> asked = new ArrayList<>();
    pool.plane =
        request -> {
          asked.add(request);
          return SamplePool.lease(1).toBuilder().setClass_(LeaseClass.LEASE_CLASS_LATENCY).build();
        };
    HttpResponse<String> answer =
        client.as(type, "PATCH", "/api/v1/leases/L1", "{\"computePercent\":12.5,\"hard\":false}");
    assertThat(answer.statusCode()).isEqualTo(200);
    assertThat(Client.json(answer).get("class").getAsString()).isEqualTo("latency");
    assertThat(asked)
        .containsExactly(
            UpdateLeaseRequest.newBuilder()
                .setLeaseId("L1")
                .setComputePercent(12.5)
                .setHard(false)
                .build());
  }

  @Test
  void move_ofALease_asksForItAndAnswersWhatCameOfIt() throws Exception {
    List<Object> asked = new ArrayList<>();
    pool.plane =
        request -> {
          asked.add(request);
          return MoveLeaseReply.newBuilder()
              .setSessions(2)
              .setBytes(4096)
              .setPauseMillis(7)
              .build();
        };
    HttpResponse<String> answer =
        client.put("POST", "/api/v1/leases/L1/move", "{\"server\":\"gpu-3\",\"gpu\":1}");
    assertThat(answer.statusCode()).isEqualTo(200);
    assertThat(Client.json(answer).get("sessions").getAsInt()).isEqualTo(2);
    assertThat(Client.json(answer).get("pauseMillis").getAsInt()).isEqualTo(7);
    assertThat(asked)
        .containsExactly(
            MoveLeaseRequest.newBuilder().setLeaseId("L1").setServer("gpu-3").setGpu(1).build());
    pool.plane =
        request -> {
          throw Status.FAILED_PRECONDITION.withDescription("it stays").asRuntimeException();
        };
    assertThat(client.put("POST", "/api/v1/leases/L1/move", "{\"server\":\"gpu-3\"}").statusCode())
        .isEqualTo(409);
    assertThat(client.put("POST", "/api/v1/leases/L1/move", "{}").statusCode()).isEqualTo(400);
  }

  @Test
  void suspendAndResume_ofALease_askForItAndAnswerWhatCameOfIt() throws Exception {
    List<Object> asked = new ArrayList<>();
    pool.plane =
        request -> {
          asked.add(request);
          return request instanceof SuspendLeaseRequest
              ? SuspendLeaseReply.newBuilder().setSessions(2).setBytes(4096).build()
              : ResumeLeaseReply.newBuilder().setSessions(2).build();
        };
    HttpResponse<String> suspended =
        client.put("POST", "/api/v1/leases/L1/suspend", "{\"wakesOnCall\":true}");
    assertThat(suspended.statusCode()).isEqualTo(200);
    assertThat(Client.json(suspended).get("bytes").getAsInt()).isEqualTo(4096);
    HttpResponse<String> resumed =
        client.put("POST", "/api/v1/leases/L1/resume", "{\"waitMillis\":5000}");
    assertThat(resumed.statusCode()).isEqualTo(200);
    assertThat(Client.json(resumed).get("sessions").getAsInt()).isEqualTo(2);
    assertThat(asked)
        .containsExactly(
            SuspendLeaseRequest.newBuilder().setLeaseId("L1").setWakesOnCall(true).build(),
            ResumeLeaseRequest.newBuilder().setLeaseId("L1").setWaitMillis(5000).build());
    pool.plane =
        request -> {
          throw Status.UNAVAILABLE.withDescription("it waits for room").asRuntimeException();
        };
    assertThat(client.put("POST", "/api/v1/leases/L1/resume", "{}").statusCode()).isEqualTo(503);
  }

  @Test
  void patch_ofALease_thatIsRefusedOrNotThere_saysWhy() throws Exception {
    String body = "{\"computePercent\":80}";
    pool.plane =
        request -> {
          throw Status.FAILED_PRECONDITION.withDescription("20 % is free").asRuntimeException();
        };
    HttpResponse<String> full = client.put("PATCH", "/api/v1/leases/L1", body);
    assertThat(full.statusCode()).isEqualTo(409);
    assertThat(Client.json(full).get("detail").getAsString()).isEqualTo("20 % is free");
    assertThat(client.put("PATCH", "/api/v1/leases/L99", body).statusCode()).isEqualTo(404);
    HttpResponse<String> typed = client.as("text/plain", "PATCH", "/api/v1/leases/L1", body);
    assertThat(typed.statusCode()).isEqualTo(415);
    assertThat(typed.headers().firstValue("Accept-Patch")).contains("application/merge-patch+json");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "*/* | 200",
        "text/html, application/* | 200",
        "text/html;q=0.9, application/json;q=0.1 | 200",
        "text/html | 406",
        "; | 406",
        ",;,;q= | 406",
        "*/*, application/json;q=0 | 406",
      })
  void get_withAccept_getsWhatItTakes(String accept, int status) throws Exception {
    assertThat(client.get("/api/v1/gpus", "Accept", accept).statusCode()).isEqualTo(status);
  }

  @Test
  void get_withTagOfTheSame_isNotModifiedUntilMoreThanAgesChange() throws Exception {
    String tag = client.get("/api/v1/leases/L1").headers().firstValue("ETag").orElseThrow();
    pool.setLeases(List.of(SamplePool.lease(1).toBuilder().setAgeMillis(999_999).build()));
    HttpResponse<String> older = client.get("/api/v1/leases/L1", "If-None-Match", "\"x\", " + tag);
    assertThat(older.statusCode()).isEqualTo(304);
    assertThat(older.body()).isEmpty();
    assertThat(older.headers().firstValue("ETag")).contains(tag);
    pool.setLeases(List.of(SamplePool.lease(1).toBuilder().setSessions(1).build()));
    HttpResponse<String> changed = client.get("/api/v1/leases/L1", "If-None-Match", tag);
    assertThat(changed.statusCode()).isEqualTo(200);
    assertThat(changed.headers().firstValue("ETag")).isPresent().get().isNotEqualTo(tag);
  }

  @Test
  void head_ofAPage_hasTheHeadersOnly() throws Exception {
    String whole = client.get("/api/v1/gpus").body();
    HttpResponse<String> head =
        client.send("HEAD", "/api/v1/gpus", "Authorization", "bearer " + SamplePool.TOKEN);
    assertThat(head.statusCode()).isEqualTo(200);
    assertThat(head.body()).isEmpty();
    assertThat(head.headers().firstValueAsLong("Content-Length")).hasValue(whole.length());
  }

  @ParameterizedTest
  @ValueSource(strings = {"/healthz", "/readyz"})
  void health_controlThreadIsStuck_isUnavailable(String path) throws Exception {
    assertThat(client.send("GET", path).statusCode()).isEqualTo(200);
    pool.isStuck = true;
    assertThat(client.send("GET", path).statusCode()).isEqualTo(503);
  }

  @Test
  void readyz_noWorkerStarts_saysSoWhileTheServerLives() throws Exception {
    pool.trouble = Optional.of("workers do not start");
    HttpResponse<String> ready = client.send("GET", "/readyz");
    assertThat(ready.statusCode()).isEqualTo(503);
    assertThat(Client.json(ready).get("detail").getAsString()).isEqualTo("workers do not start");
    assertThat(client.send("GET", "/healthz").statusCode()).isEqualTo(200);
  }

  @Test
  void events_leaseComesChangesAndGoes_areTold() throws Exception {
    pool.setLeases(List.of(SamplePool.lease(1)));
    try (Stream<String> stream = client.lines("/api/v1/events?kind=leases").body()) {
      Iterator<JsonObject> events =
          stream
              .filter(line -> line.startsWith("data: "))
              .map(line -> JsonParser.parseString(line.substring(6)).getAsJsonObject())
              .peek(RestServerTest::assertFitsTheDocument)
              .iterator();
      assertEvent(events.next(), "added", "L1");
      pool.setLeases(List.of(SamplePool.lease(1), SamplePool.lease(2)));
      assertEvent(events.next(), "added", "L2");
      pool.setLeases(
          List.of(
              SamplePool.lease(1).toBuilder().setAgeMillis(1).build(),
              SamplePool.lease(2).toBuilder().setState(LeaseInfo.State.STATE_ENDING).build()));
      assertEvent(events.next(), "changed", "L2");
      pool.setLeases(
          List.of(SamplePool.lease(2).toBuilder().setState(LeaseInfo.State.STATE_ENDING).build()));
      assertEvent(events.next(), "removed", "L1");
    }
  }

  @Test
  void events_oneReadersTokenOpensMany_othersHaveTheirs() throws Exception {
    List<Stream<String>> streams = new ArrayList<>();
    String reader = "Bearer " + SamplePool.READER_TOKEN;
    try {
      for (int i = 0; i < 8; i++) {
        streams.add(events(reader).body());
      }
      HttpResponse<Stream<String>> refused = events(reader);
      assertThat(refused.statusCode()).isEqualTo(503);
      assertThat(refused.body())
          .anySatisfy(
              line -> assertThat(line).contains("this token has 8 streams of events already"));
      HttpResponse<Stream<String>> admin = events("Bearer " + SamplePool.TOKEN);
      streams.add(admin.body());
      assertThat(admin.statusCode()).isEqualTo(200);
      assertThat(
              client
                  .send("HEAD", "/api/v1/events", "Authorization", "Bearer " + SamplePool.TOKEN)
                  .statusCode())
          .isEqualTo(200);
    } finally {
      streams.forEach(Stream::close);
    }
  }

  private HttpResponse<Stream<String>> events(String authorization) throws Exception {
    return client
        .http()
        .send(
            HttpRequest.newBuilder(
                    URI.create("http://127.0.0.1:" + client.port() + "/api/v1/events"))
                .header("Authorization", authorization)
                .build(),
            HttpResponse.BodyHandlers.ofLines());
  }

  private static void assertEvent(JsonObject event, String change, String id) {
    assertThat(event.get("change").getAsString()).isEqualTo(change);
    assertThat(event.get("id").getAsString()).isEqualTo(id);
  }

  private static void assertFitsTheDocument(JsonObject event) {
    JsonObject reference = new JsonObject();
    reference.addProperty("$ref", "#/components/schemas/Change");
    assertThat(new Schema(OpenApi.get().document(), reference).faults(event)).isEmpty();
  }

  private static List<String> ids(JsonObject page) {
    return page.getAsJsonArray("items").asList().stream()
        .map(JsonElement::getAsJsonObject)
        .map(item -> item.get("id").getAsString())
        .toList();
  }
}
