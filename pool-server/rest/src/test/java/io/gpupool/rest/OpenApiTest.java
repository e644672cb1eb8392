// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Message;
import io.gpupool.control.v1.AuditLine;
import io.gpupool.control.v1.CreatePartitionRequest;
import io.gpupool.control.v1.CreateTenantRequest;
import io.gpupool.control.v1.CreateTokenReply;
import io.gpupool.control.v1.CreateTokenRequest;
import io.gpupool.control.v1.GpuInfo;
import io.gpupool.control.v1.GpuSelector;
import io.gpupool.control.v1.Grant;
import io.gpupool.control.v1.GrantUse;
import io.gpupool.control.v1.Holder;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.ListAuditReply;
import io.gpupool.control.v1.ListAuditRequest;
import io.gpupool.control.v1.ListTokensReply;
import io.gpupool.control.v1.MoveLeaseReply;
import io.gpupool.control.v1.PartitionInfo;
import io.gpupool.control.v1.PartitionRef;
import io.gpupool.control.v1.PartitionSize;
import io.gpupool.control.v1.PodRef;
import io.gpupool.control.v1.QueueInfo;
import io.gpupool.control.v1.Queued;
import io.gpupool.control.v1.Quota;
import io.gpupool.control.v1.RejectionReason;
import io.gpupool.control.v1.ResumeLeaseReply;
import io.gpupool.control.v1.ServerInfo;
import io.gpupool.control.v1.SessionInfo;
import io.gpupool.control.v1.SuspendLeaseReply;
import io.gpupool.control.v1.Suspension;
import io.gpupool.control.v1.TenantInfo;
import io.gpupool.control.v1.TokenInfo;
import io.gpupool.rest.openapi.OpenApi;
import io.gpupool.rest.openapi.Operation;
import io.gpupool.rest.openapi.Schema;
import io.gpupool.server.identity.Role;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.http.HttpResponse;
import java.util.HashMap;
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
  private static final Map<String, String> PATHS =
      Map.ofEntries(
          Map.entry("/api/v1/servers/{id}", "/api/v1/servers/gpu-1"),
          Map.entry("/api/v1/servers/{id}/drain", "/api/v1/servers/gpu-1/drain"),
          Map.entry("/api/v1/servers/{id}/uncordon", "/api/v1/servers/gpu-1/uncordon"),
          Map.entry("/api/v1/gpus/{id}", "/api/v1/gpus/GPU-01"),
          Map.entry("/api/v1/leases/{id}", "/api/v1/leases/L2"),
          Map.entry("/api/v1/leases/{id}/move", "/api/v1/leases/L2/move"),
          Map.entry("/api/v1/leases/{id}/suspend", "/api/v1/leases/L2/suspend"),
          Map.entry("/api/v1/leases/{id}/resume", "/api/v1/leases/L2/resume"),
          Map.entry("/api/v1/queue/{id}", "/api/v1/queue/Q3"),
          Map.entry("/api/v1/sessions/{id}", "/api/v1/sessions/00112233445566778899aabbccddeeff"),
          Map.entry("/api/v1/partitions/{server}/{gpu}/{name}", "/api/v1/partitions/gpu-1/1/batch"),
          Map.entry("/api/v1/tenants/{name}", "/api/v1/tenants/vision"),
          Map.entry("/api/v1/tokens/{id}", "/api/v1/tokens/3f0c9a6b21d4"),
          Map.entry("/api/v1/audit/{id}", "/api/v1/audit/0f-gpu-1"));

  private final SamplePool pool = new SamplePool(3);
  private RestServer server;
  private Client client;

  @BeforeEach
  void start() throws Exception {
    pool.plane =
        request ->
            request instanceof ListAuditRequest
                ? ListAuditReply.newBuilder()
                    .addLines(AuditLine.newBuilder().setId("0f-gpu-1").setAction("lease.end"))
                    .build()
                : ListTokensReply.newBuilder()
                    .addTokens(TokenInfo.newBuilder().setId("3f0c9a6b21d4").setRoleValue(1))
                    .build();
    server = pool.serve(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
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
        .containsExactlyInAnyOrderElementsOf(new Handlers(pool.meters).byId().keySet());
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
    Map<String, Message> messages = new HashMap<>();
    messages.put("Server", ServerInfo.getDefaultInstance());
    messages.put("Gpu", GpuInfo.getDefaultInstance());
    messages.put("Lease", LeaseInfo.getDefaultInstance());
    messages.put("Suspension", Suspension.getDefaultInstance());
    messages.put("GrantUse", GrantUse.getDefaultInstance());
    messages.put("Grant", Grant.getDefaultInstance());
    messages.put("Holder", Holder.getDefaultInstance());
    messages.put("Pod", PodRef.getDefaultInstance());
    messages.put("QueuedRequest", QueueInfo.getDefaultInstance());
    messages.put("Session", SessionInfo.getDefaultInstance());
    messages.put("Partition", PartitionInfo.getDefaultInstance());
    messages.put("PartitionRef", PartitionRef.getDefaultInstance());
    messages.put("PartitionSize", PartitionSize.getDefaultInstance());
    messages.put("NewPartition", CreatePartitionRequest.getDefaultInstance());
    messages.put("Tenant", TenantInfo.getDefaultInstance());
    messages.put("Quota", Quota.getDefaultInstance());
    messages.put("NewTenant", CreateTenantRequest.getDefaultInstance());
    messages.put("Token", TokenInfo.getDefaultInstance());
    messages.put("NewToken", CreateTokenRequest.getDefaultInstance());
    messages.put("MadeToken", CreateTokenReply.getDefaultInstance());
    messages.put("LeaseMoved", MoveLeaseReply.getDefaultInstance());
    messages.put("LeaseSuspended", SuspendLeaseReply.getDefaultInstance());
    messages.put("LeaseResumed", ResumeLeaseReply.getDefaultInstance());
    messages.put("Queued", Queued.getDefaultInstance());
    messages.put("NewHolder", Holder.getDefaultInstance());
    messages.put("AuditLine", AuditLine.getDefaultInstance());
    messages.put("GpuSelector", GpuSelector.getDefaultInstance());
    messages.put("GpuPart", RejectionReason.GpuPart.getDefaultInstance());
    messages.put("LeaseShare", RejectionReason.LeaseShare.getDefaultInstance());
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
      if (!isRead(operation) || !operation.mediaTypes().contains("application/json")) {
        continue;
      }
      HttpResponse<String> answer = client.get(path(operation));
      assertThat(answer.statusCode()).as(operation.id()).isEqualTo(200);
      assertThat(answer.headers().firstValue("Content-Type")).contains("application/json");
      assertThat(
              new Schema(DOCUMENT.document(), schema(operation, "200")).faults(Client.json(answer)))
          .as(operation.id())
          .isEmpty();
      checked++;
    }
    assertThat(checked).isGreaterThanOrEqualTo(22);
  }

  @Test
  void operations_withoutAToken_areRefusedUnlessTheDocumentOpensThem() throws Exception {
    Set<String> open = new TreeSet<>();
    for (Operation operation : DOCUMENT.operations()) {
      for (String[] headers :
          List.of(new String[0], new String[] {"Authorization", "Bearer wrong"})) {
        HttpResponse<String> answer = client.send(operation.method(), path(operation), headers);
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
  void operations_byALesserRole_areRefused() throws Exception {
    Map<Role, String> tokens =
        Map.of(Role.READ_ONLY, SamplePool.READER_TOKEN, Role.USER, SamplePool.USER_TOKEN);
    int refused = 0;
    for (Operation operation : DOCUMENT.operations()) {
      for (Map.Entry<Role, String> token : tokens.entrySet()) {
        if (operation.role() == null || token.getKey().covers(operation.role())) {
          continue;
        }
        HttpResponse<String> answer =
            client.send(
                operation.method(), path(operation), "Authorization", "Bearer " + token.getValue());
        assertThat(answer.statusCode()).as(operation.id()).isEqualTo(403);
        assertProblem(answer);
        refused++;
      }
    }
    assertThat(refused).isGreaterThan(20);
  }

  @Test
  void operations_byAnyOtherMethod_areRefused() throws Exception {
    Map<String, Set<String>> methods = new HashMap<>();
    for (Operation operation : DOCUMENT.operations()) {
      methods.computeIfAbsent(path(operation), p -> new TreeSet<>()).add(operation.method());
    }
    for (Map.Entry<String, Set<String>> path : methods.entrySet()) {
      for (String method : List.of("POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")) {
        if (!path.getValue().contains(method)) {
          HttpResponse<String> answer = client.send(method, path.getKey());
          assertThat(answer.statusCode()).as(method + " " + path).isEqualTo(405);
          assertThat(List.of(answer.headers().firstValue("Allow").orElseThrow().split(", ")))
              .containsAll(path.getValue());
          assertProblem(answer);
        }
      }
    }
  }

  private static boolean isRead(Operation operation) {
    return operation.method().equals("GET");
  }

  private static void assertProblem(HttpResponse<String> answer) {
    assertThat(answer.headers().firstValue("Content-Type")).contains("application/problem+json");
    JsonObject reference = new JsonObject();
    reference.addProperty("$ref", "#/components/schemas/Problem");
    JsonObject problem = JsonParser.parseString(answer.body()).getAsJsonObject();
    assertThat(new Schema(DOCUMENT.document(), reference).faults(problem)).isEmpty();
    assertThat(problem.get("status").getAsInt()).isEqualTo(answer.statusCode());
  }

  private static String path(Operation operation) {
    String path = String.join("/", operation.path());
    for (Map.Entry<String, String> known : PATHS.entrySet()) {
      if (path.equals(known.getKey()) || path.startsWith(known.getKey() + "/")) {
        return path.replace(known.getKey(), known.getValue());
      }
    }
    return path;
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
