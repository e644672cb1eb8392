// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.resource;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import io.gpupool.rest.Client;
import io.gpupool.rest.RestServer;
import io.gpupool.rest.SamplePool;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.http.HttpResponse;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class HistoryResponseTest {
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
  void history_ofAGpu_isThatOfTheWindowThatIsAskedFor() throws Exception {
    JsonObject hour = Client.json(client.get("/api/v1/gpus/GPU-01/history"));
    JsonObject day = Client.json(client.get("/api/v1/gpus/GPU-01/history?window=day"));
    assertThat(hour.get("window").getAsString()).isEqualTo("hour");
    assertThat(hour.get("sampleMillis").getAsLong()).isEqualTo(10_000);
    assertThat(day.get("window").getAsString()).isEqualTo("day");
    assertThat(day.get("sampleMillis").getAsLong()).isEqualTo(300_000);
    assertThat(hour.getAsJsonArray("leases"))
        .hasToString(
            """
            [{"id":"L2","tenant":"vision","program":"train","holder":"ada@pc"}]\
            """);
    assertThat(hour.getAsJsonArray("samples").get(0))
        .hasToString(
            """
            {"atMillis":90000,"millis":10000,"leases":[{"id":"L2","grantedGpuNanos":5,\
            "usedGpuNanos":4,"waitedNanos":3,"usedMemoryBytes":1073741824,\
            "grantedMemoryBytes":2147483648}]}\
            """);
  }

  @Test
  void history_ofAnotherWindow_isRefusedWithThoseThereAre() throws Exception {
    HttpResponse<String> answer = client.get("/api/v1/gpus/GPU-01/history?window=week");
    assertThat(answer.statusCode()).isEqualTo(400);
    assertThat(Client.json(answer).get("detail").getAsString())
        .isEqualTo("window is one of hour, day");
  }

  @Test
  void history_ofAGpuThatIsNotHere_saysWhoKnows() throws Exception {
    HttpResponse<String> elsewhere = client.get("/api/v1/gpus/GPU-00/history");
    assertThat(elsewhere.statusCode()).isEqualTo(404);
    assertThat(Client.json(elsewhere).get("detail").getAsString())
        .contains("by its server alone; ask gpu-1");
    HttpResponse<String> nowhere = client.get("/api/v1/gpus/GPU-77/history");
    assertThat(nowhere.statusCode()).isEqualTo(404);
    assertThat(Client.json(nowhere).get("detail").getAsString()).contains("none by this id");
  }
}
