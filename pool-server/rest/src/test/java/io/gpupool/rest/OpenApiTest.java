// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Message;
import io.gpupool.control.v1.GpuInfo;
import io.gpupool.control.v1.Grant;
import io.gpupool.control.v1.GrantUse;
import io.gpupool.control.v1.Holder;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.QueueInfo;
import io.gpupool.control.v1.ServerInfo;
import io.gpupool.control.v1.SessionInfo;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The document against what is answered. */
class OpenApiTest {
  private static final OpenApi DOCUMENT = OpenApi.get();
  private static final Map<String, String> IDS =
      Map.of(
          "get_servers", "gpu-1",
          "get_gpus", "GPU-01",
          "get_leases", "L2",
          "get_queue", "Q3",
          "get_sessions", "00112233445566778899aabbccddeeff");

  private RestServer server;
  private Client client;

  @BeforeEach
  void start() throws Exception {
    server =
        RestServer.start(
            new SamplePool(3), new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    client = new Client(server.port());
  }

  @AfterEach
  void stop() {
    server.close();
  }

  @Test
  void operations_all_areThoseThatHaveHandlers() {
    assertThat(DOCUMENT.operations())
        .extracting(Operation::id)
        .containsExactlyInAnyOrderElementsOf(new Handlers().byId().keySet());
  }

  @Test
  void references_all_leadToSomething() {
    assertThat(references(DOCUMENT.document()))
        .isNotEmpty()
        .allSatisfy(name -> {
          JsonObject reference = new JsonObject();
          reference.addProperty("$ref", name);
          assertThat(DOCUMENT.resolve(reference)).as(name).isNotNull();
        });
  }

  @Test
  void schemas_ofThePoolsThings_haveTheFieldsOfTheMessages() {
    Map<String, Message> messages =
        Map.of(
            "Server", ServerInfo.getDefaultInstance(),
            "Gpu", GpuInfo.getDefaultInstance(),
            "Lease", LeaseInfo.getDefaultInstance(),
            "GrantUse", GrantUse.getDefaultInstance(),
            "Grant", Grant.getDefaultInstance(),
            "Holder", Holder.getDefaultInstance(),
            "QueuedRequest", QueueInfo.getDefaultInstance(),
            "Session", SessionInfo.getDefaultInstance());
    JsonObject schemas =
        DOCUMENT.document().getAsJsonObject("components").getAsJsonObject("schemas");
    messages.forEach((name, message) ->
        assertThat(schemas.getAsJsonObject(name).getAsJsonObject("properties").keySet())
            .as(name)
            .containsExactlyInAnyOrderElementsOf(
                message.getDescriptorForType().getFields().stream()
                    .map(FieldDescriptor::getJsonName)
                    .collect(Collectors.toSet())));
  }

  @Test
  void answers_ofEveryOperation_fitTheirSchemas() throws Exception {
    int checked = 0;
    for (Operation operation : DOCUMENT.operations()) {
      if (!operation.mediaTypes().contains("application/json")) {
        continue;
      }
      HttpResponse<String> answer = client.get(path(operation));
      assertThat(answer.statusCode()).as(operation.id()).isEqualTo(200);
      assertThat(answer.headers().firstValue("Content-Type")).contains("application/json");
      assertThat(new Schema(DOCUMENT, schema(operation, "200")).faults(Client.json(answer)))
          .as(operation.id())
          .isEmpty();
      checked++;
    }
    assertThat(checked).isGreaterThanOrEqualTo(13);
  }

  @Test
  void operations_withoutAToken_areRefusedUnlessTheDocumentOpensThem() throws Exception {
    Set<String> open = new TreeSet<>();
    for (Operation operation : DOCUMENT.operations()) {
      for (String[] headers :
          List.of(new String[0], new String[] {"Authorization", "Bearer wrong"})) {
        HttpResponse<String> answer = client.send("GET", path(operation), headers);
        if (answer.statusCode() == 200) {
          open.add(operation.id());
          continue;
        }
        assertThat(answer.statusCode()).as(operation.id()).isEqualTo(401);
        assertThat(answer.headers().firstValue("WWW-Authenticate")).contains("Bearer");
        assertProblem(answer);
      }
    }
    assertThat(open).containsExactly("healthz", "openapi", "readyz");
  }

  @Test
  void operations_byAnyOtherMethod_areRefused() throws Exception {
    for (Operation operation : DOCUMENT.operations()) {
      for (String method : List.of("POST", "PUT", "PATCH", "DELETE", "OPTIONS")) {
        HttpResponse<String> answer = client.send(method, path(operation));
        assertThat(answer.statusCode()).as(method + " " + operation.id()).isEqualTo(405);
        assertThat(answer.headers().firstValue("Allow")).contains("GET, HEAD");
        assertProblem(answer);
      }
    }
  }

  private static void assertProblem(HttpResponse<String> answer) {
    assertThat(answer.headers().firstValue("Content-Type")).contains("application/problem+json");
    JsonObject reference = new JsonObject();
    reference.addProperty("$ref", "#/components/schemas/Problem");
    JsonObject problem = JsonParser.parseString(answer.body()).getAsJsonObject();
    assertThat(new Schema(DOCUMENT, reference).faults(problem)).isEmpty();
    assertThat(problem.get("status").getAsInt()).isEqualTo(answer.statusCode());
  }

  private static String path(Operation operation) {
    return String.join("/", operation.path())
        .replace("{id}", IDS.getOrDefault(operation.id(), "none"));
  }

  private static JsonObject schema(Operation operation, String status) {
    JsonObject json =
        DOCUMENT
            .document()
            .getAsJsonObject("paths")
            .getAsJsonObject(String.join("/", operation.path()))
            .getAsJsonObject("get");
    return json.getAsJsonObject("responses")
        .getAsJsonObject(status)
        .getAsJsonObject("content")
        .getAsJsonObject("application/json")
        .getAsJsonObject("schema");
  }

  private static Set<String> references(JsonElement json) {
    Set<String> found = new TreeSet<>();
    if (json.isJsonArray()) {
      json.getAsJsonArray().forEach(element -> found.addAll(references(element)));
    } else if (json.isJsonObject()) {
      json.getAsJsonObject()
          .asMap()
          .forEach((name, value) -> {
            if (name.equals("$ref")) {
              found.add(value.getAsString());
            } else {
              found.addAll(references(value));
            }
          });
    }
    return found;
  }
}
