// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class HealthServerTest {
  /** More than a port has connections. */
  private static final int STRANGERS = 600;

  private final SamplePool pool = new SamplePool(1);
  private HealthServer server;
  private Client client;

  @BeforeEach
  void start() throws IOException {
    server = HealthServer.start(pool, loopback(0));
    client = new Client(server.port());
  }

  @AfterEach
  void stop() {
    server.close();
  }

  @Test
  void get_withoutToken_tellsHealth() throws Exception {
    assertThat(client.send("GET", "/healthz").body()).isEqualTo("ok\n");
    assertThat(client.send("HEAD", "/readyz").statusCode()).isEqualTo(200);
    pool.trouble = Optional.of("the disk is full");
    assertThat(client.send("GET", "/healthz").statusCode()).isEqualTo(200);
    HttpResponse<String> ready = client.send("GET", "/readyz");
    assertThat(ready.statusCode()).isEqualTo(503);
    assertThat(ready.body()).isEqualTo("the disk is full\n");
    pool.isStuck = true;
    assertThat(client.send("GET", "/healthz").statusCode()).isEqualTo(503);
  }

  @Test
  void get_anythingElse_isRefused() throws Exception {
    assertThat(client.send("GET", "/api/v1/leases").statusCode()).isEqualTo(404);
    assertThat(client.send("POST", "/healthz").statusCode()).isEqualTo(405);
  }

  @Test
  void get_behindSilentStrangersOnBothPorts_isAnswered() throws Exception {
    List<Socket> strangers = new ArrayList<>();
    try (RestServer rest = pool.serve(loopback(0))) {
      for (int i = 0; i < STRANGERS; i++) {
        strangers.add(new Socket(InetAddress.getLoopbackAddress(), rest.port()));
        strangers.add(new Socket(InetAddress.getLoopbackAddress(), server.port()));
      }
      assertThat(client.send("GET", "/healthz").statusCode()).isEqualTo(200);
      assertThat(new Client(rest.port()).get("/api/v1/gpus").statusCode()).isEqualTo(200);
    } finally {
      for (Socket stranger : strangers) {
        stranger.close();
      }
    }
  }

  @Test
  void start_portIsTaken_saysWhichOptionToGive() {
    assertThatThrownBy(() -> HealthServer.start(pool, loopback(server.port())))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("--health-port");
  }

  private static InetSocketAddress loopback(int port) {
    return new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
  }
}
