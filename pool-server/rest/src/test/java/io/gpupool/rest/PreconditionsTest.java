// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.Message;
import io.gpupool.control.v1.DeletePartitionReply;
import io.gpupool.control.v1.DeletePartitionRequest;
import io.gpupool.control.v1.DeleteTenantReply;
import io.gpupool.control.v1.DeleteTenantRequest;
import io.gpupool.control.v1.ResizePartitionRequest;
import io.gpupool.control.v1.SetQuotaRequest;
import io.gpupool.control.v1.TenantInfo;
import io.grpc.Status;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Changes on the condition that things are as the caller has seen them. */
class PreconditionsTest {
  private final SamplePool pool = new SamplePool(1);
  private final List<Long> revisions = new ArrayList<>();
  private RestServer server;
  private Client client;

  @BeforeEach
  void start() throws Exception {
    pool.plane = this::change;
    server = pool.serve(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    client = new Client(server.port());
  }

  @AfterEach
  void stop() {
    server.close();
  }

  private Message change(Object request) {
    return switch (request) {
      case ResizePartitionRequest resize -> {
        revisions.add(resize.getIfRevision());
        yield SamplePool.partition(18);
      }
      case DeletePartitionRequest delete -> {
        revisions.add(delete.getIfRevision());
        yield DeletePartitionReply.newBuilder().setGone(true).build();
      }
      case SetQuotaRequest quota -> {
        revisions.add(quota.getIfRevision());
        yield TenantInfo.newBuilder().setName("vision").setRevision(4).build();
      }
      case DeleteTenantRequest delete -> {
        revisions.add(delete.getIfRevision());
        yield DeleteTenantReply.getDefaultInstance();
      }
      default -> throw new AssertionError(request);
    };
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "PATCH | partitions/gpu-1/1/batch | {\"size\":{}} | 17",
        "DELETE | partitions/gpu-1/1/batch | '' | 17",
        "PUT | tenants/vision | {\"quota\":{}} | 3",
        "DELETE | tenants/vision | '' | 3",
      })
  void change_ofAThingWithARevision_takesItsTag(
      String method, String path, String json, long revision) throws Exception {
    String uri = "/api/v1/" + path;
    HttpResponse<String> seen = client.get(uri);
    String tag = seen.headers().firstValue("ETag").orElseThrow();
    assertThat(tag).startsWith("\"" + revision + "-");

    assertThat(client.put(method, uri, json).statusCode()).isEqualTo(428);
    for (String other : List.of("\"1-x\"", "\"" + revision + "\"", "\"\"", "x")) {
      HttpResponse<String> refused = client.put(method, uri, json, "If-Match", other);
      assertThat(refused.statusCode()).as(other).isEqualTo(412);
      assertThat(Client.json(refused).get("detail").getAsString()).contains(tag);
    }
    assertThat(revisions).as("nothing was changed").isEmpty();

    for (String good : List.of(tag, "W/" + tag, "\"1-x\", " + tag)) {
      assertThat(client.put(method, uri, json, "If-Match", good).statusCode())
          .as(good)
          .isBetween(200, 204);
    }
    assertThat(client.put(method, uri, json, "If-Match", "*").statusCode()).isBetween(200, 204);
    assertThat(revisions).containsExactly(revision, revision, revision, 0L);
  }

  @Test
  void change_anotherComesFirst_isRefusedAsTheControlPlaneSays() throws Exception {
    String tag = client.get("/api/v1/tenants/vision").headers().firstValue("ETag").orElseThrow();
    pool.plane =
        request -> {
          throw Status.ABORTED.withDescription("it has changed since").asRuntimeException();
        };
    HttpResponse<String> answer =
        client.put("PUT", "/api/v1/tenants/vision", "{\"quota\":{}}", "If-Match", tag);
    assertThat(answer.statusCode()).isEqualTo(412);
  }

  @Test
  void change_ofWhatIsNotThere_isNotFoundBeforeAnythingElse() throws Exception {
    assertThat(client.put("DELETE", "/api/v1/tenants/none", "", "If-Match", "*").statusCode())
        .isEqualTo(404);
    assertThat(revisions).isEmpty();
  }
}
