// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.http;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.Message;
import io.gpupool.control.v1.TenantInfo;
import io.gpupool.rest.RestServer;
import io.gpupool.rest.SamplePool;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What pages of other sites can do in a browser of the server's machine; PORT is the server's. */
class OriginCheckTest {
  private static final Message MADE = TenantInfo.newBuilder().setName("night").build();

  private final SamplePool pool = new SamplePool(1);

  @SuppressWarnings("NullAway.Init") // each test starts one
  private RestServer server;

  @AfterEach
  void stop() {
    server.close();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "GET | localhost:PORT | | 200",
        "GET | 127.0.0.1:PORT | http://evil.example | 200",
        "GET | [::1]:PORT | | 200",
        "GET | LOCALHOST | | 200",
        "GET | evil.example:PORT | | 421",
        "GET | localhost.evil.example | | 421",
        "GET | 127.0.0.1.evil.example:PORT | | 421",
        "POST | localhost:PORT | | 201",
        "POST | localhost:PORT | http://localhost:PORT | 201",
        "POST | localhost:PORT | http://127.0.0.1:PORT | 403",
        "POST | localhost:PORT | http://localhost:1 | 403",
        "POST | localhost:PORT | http://evil.example | 403",
        "POST | localhost:PORT | null | 403",
        "POST | evil.example:PORT | http://evil.example:PORT | 421",
      })
  void request_whereAnyCallerIsTaken_mustBeOfThisMachineAndItsOwnPage(
      String method, String host, String origin, int status) throws Exception {
    start(false, InetAddress.getLoopbackAddress());
    assertThat(ask(method, host, origin, "")).isEqualTo(status);
  }

  @Test
  void request_withoutHost_isMisdirected() throws Exception {
    start(false, InetAddress.getLoopbackAddress());
    assertThat(ask("GET", null, null, "")).isEqualTo(421);
  }

  @Test
  void request_whereTokensAreTaken_mayComeFromAnywhereThatHasOne() throws Exception {
    start(true, InetAddress.getLoopbackAddress());
    String token = "Authorization: Bearer " + SamplePool.TOKEN + "\r\n";
    assertThat(ask("POST", "pool.example", "http://other.example", token)).isEqualTo(201);
    assertThat(ask("POST", "pool.example", "http://other.example", "")).isEqualTo(401);
  }

  @Test
  void change_fromAnotherSite_isRefusedOnANetworkToo() throws Exception {
    start(false, InetAddress.getByName("0.0.0.0"));
    assertThat(ask("GET", "pool.example", null, "")).isEqualTo(200);
    assertThat(ask("POST", "pool.example", "http://pool.example", "")).isEqualTo(201);
    assertThat(ask("POST", "pool.example", "http://evil.example", "")).isEqualTo(403);
  }

  private void start(boolean needsTokens, InetAddress address) throws IOException {
    pool.needsTokens = needsTokens;
    pool.plane = request -> MADE;
    server = pool.serve(new InetSocketAddress(address, 0));
  }

  /** By hand, since clients put in a host of their own. */
  private int ask(String method, @Nullable String host, @Nullable String origin, String more)
      throws IOException {
    String body = method.equals("GET") ? "" : "{\"name\":\"night\"}";
    String request =
        method
            + " /api/v1/tenants HTTP/1.1\r\n"
            + header("Host", host)
            + header("Origin", origin)
            + "Connection: close\r\nContent-Type: application/json\r\nContent-Length: "
            + body.length()
            + "\r\n"
            + more
            + "\r\n"
            + body;
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
      socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
      String answer = new String(socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
      return Integer.parseInt(answer.split(" ", 3)[1]);
    }
  }

  private String header(String name, @Nullable String value) {
    return value == null
        ? ""
        : name + ": " + value.replace("PORT", Integer.toString(server.port())) + "\r\n";
  }
}
