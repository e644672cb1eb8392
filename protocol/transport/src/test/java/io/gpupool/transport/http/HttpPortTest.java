// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport.http;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpExchange;
import io.gpupool.transport.tls.TestAuthority;
import io.gpupool.transport.tls.TlsContext;
import io.gpupool.transport.tls.TlsFiles;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HttpPortTest {
  private static final int CONNECTIONS = 16;
  private static final int STRANGERS = 3 * CONNECTIONS;
  private static final long LONG_MILLIS = 600_000;

  private final List<Socket> sockets = new ArrayList<>();
  private final CompletableFuture<IOException> broken = new CompletableFuture<>();
  private HttpPort port;

  @AfterEach
  void close() throws IOException {
    for (Socket socket : sockets) {
      socket.close();
    }
    if (port != null) {
      port.close();
    }
  }

  @Test
  void connect_moreSilentOnesThanThereMayBe_requestsAreAnswered() throws Exception {
    serve(patient());
    List<Socket> strangers = new ArrayList<>();
    for (int i = 0; i < STRANGERS; i++) {
      strangers.add(connect());
    }
    awaitDisplaced(strangers);
    assertThat(ask("GET /hello HTTP/1.1\r\nConnection: close\r\n\r\n"))
        .contains("200 OK", "GET /hello ''");
  }

  @Test
  void connect_moreHalfRequestsThanThereMayBe_requestsAreAnswered() throws Exception {
    serve(patient());
    List<Socket> strangers = new ArrayList<>();
    for (int i = 0; i < STRANGERS; i++) {
      strangers.add(connect());
      send(
          strangers.getLast(),
          i % 2 == 0 ? "GET /hello HTT" : "POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nhal");
    }
    awaitDisplaced(strangers);
    assertThat(ask("GET /hello HTTP/1.1\r\nConnection: close\r\n\r\n")).contains("200 OK");
  }

  @Test
  void request_underWay_isNotDisplaced() throws Exception {
    serve(patient());
    Socket slow = connect();
    send(slow, "GET /stream HTTP/1.1\r\n\r\n");
    assertThat(slow.getInputStream().readNBytes(15)).asString().contains("200");
    List<Socket> strangers = new ArrayList<>();
    for (int i = 0; i < STRANGERS; i++) {
      strangers.add(connect());
    }
    awaitDisplaced(strangers);
    assertThat(ask("GET / HTTP/1.1\r\nConnection: close\r\n\r\n")).contains("200 OK");
    assertThat(slow.getInputStream().readNBytes(2000)).hasSize(2000);
  }

  @Test
  void connect_silent_isClosed() throws Exception {
    serve(new HttpLimits(CONNECTIONS, 300, 300, 300, LONG_MILLIS));
    Socket silent = connect();
    assertThat(silent.getInputStream().read()).isEqualTo(-1);
    Socket half = connect();
    send(half, "GET / HTTP/1.1\r\nX: ");
    assertThat(half.getInputStream().read()).isEqualTo(-1);
    Socket idle = connect();
    send(idle, "GET / HTTP/1.1\r\n\r\n");
    assertThat(text(idle)).contains("200 OK");
    Socket body = connect();
    send(body, "POST /late HTTP/1.1\r\nContent-Length: 9\r\n\r\nhal");
    assertThat(body.getInputStream().read()).isEqualTo(-1);
  }

  @Test
  void answer_isNotRead_isGivenUp() throws Exception {
    serve(new HttpLimits(CONNECTIONS, LONG_MILLIS, LONG_MILLIS, LONG_MILLIS, 300));
    send(connect(), "GET /stream HTTP/1.1\r\n\r\n");
    assertThat(broken.get(60, TimeUnit.SECONDS)).hasMessageContaining("does not read");
  }

  @Test
  void requests_onOneConnection_areAnsweredInTurn() throws Exception {
    serve(patient());
    assertThat(
            ask(
                "GET /1 HTTP/1.1\r\n\r\nPOST /2 HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody"
                    + "POST /3 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
                    + "HEAD /4 HTTP/1.1\r\nConnection: close\r\n\r\n"))
        .containsSubsequence("GET /1 ''", "POST /2 'body'", "POST /3 'abc'", "200 OK")
        .doesNotContain("HEAD /4");
    assertThat(ask("GET /old HTTP/1.0\r\n\r\n")).contains("200 OK", "GET /old");
  }

  @Test
  void body_thatIsExpectedToBeWanted_isAskedFor() throws Exception {
    serve(patient());
    Socket socket = connect();
    send(
        socket,
        "POST / HTTP/1.1\r\nExpect: 100-continue\r\nConnection: close\r\nContent-Length: 2\r\n\r\n");
    assertThat(socket.getInputStream().readNBytes(25)).asString().contains("100 Continue");
    send(socket, "hi");
    assertThat(text(socket)).contains("POST / 'hi'");
  }

  @Test
  void body_thatNobodyReads_doesNotBreakTheAnswerOff() throws Exception {
    serve(patient());
    Socket socket = connect();
    send(socket, "POST /refused HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n");
    String answer = "";
    byte[] piece = new byte[10_000];
    for (int i = 0; i < 100; i++) {
      socket.getOutputStream().write(piece);
    }
    answer = text(socket);
    assertThat(answer).contains("401", "connection: close");
  }

  @Test
  void request_malformed_isRefused() throws Exception {
    serve(patient());
    assertThat(ask("GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx"))
        .contains(" 400 ");
    assertThat(ask("GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\nx")).contains(" 400 ");
    assertThat(ask("GET http://[ HTTP/1.1\r\n\r\n")).contains(" 400 ");
    assertThat(ask("GET mailto:a HTTP/1.1\r\n\r\n")).contains(" 400 ");
    assertThat(ask("GET /" + "a".repeat(20_000) + " HTTP/1.1\r\n\r\n")).contains(" 414 ");
    assertThat(ask("GET / HTTP/1.1\r\nX: " + "a".repeat(70_000) + "\r\n\r\n")).contains(" 431 ");
    assertThat(ask("GET /fails HTTP/1.1\r\n\r\n")).isEmpty();
  }

  @Test
  void tls_silentStrangersAndClearText_leaveRoomForOthers(@TempDir Path folder) throws Exception {
    TestAuthority authority = new TestAuthority(folder.resolve("authority"));
    TestAuthority.Issued issued = authority.issue("server", "IP:127.0.0.1");
    port =
        HttpPort.open(
            loopback(),
            TlsContext.of(TestAuthority.server(issued, Optional.empty())),
            "test-https-",
            patient());
    port.serve(this::handle);
    List<Socket> strangers = new ArrayList<>();
    for (int i = 0; i < STRANGERS; i++) {
      strangers.add(connect());
    }
    awaitDisplaced(strangers);
    Socket clear = connect();
    send(clear, "GET / HTTP/1.1\r\n\r\n");
    SSLContext trusting = TlsContext.of(TlsFiles.trusting(authority.root())).context();
    try (HttpClient client = HttpClient.newBuilder().sslContext(trusting).build()) {
      HttpResponse<String> answer =
          client.send(
              HttpRequest.newBuilder(URI.create("https://127.0.0.1:" + port.port() + "/s")).build(),
              HttpResponse.BodyHandlers.ofString());
      assertThat(answer.body()).isEqualTo("GET /s ''");
    }
  }

  private void serve(HttpLimits limits) throws IOException {
    port = HttpPort.open(loopback(), null, "test-http-", limits);
    port.serve(this::handle);
  }

  private void handle(HttpExchange exchange) throws IOException {
    try (exchange) {
      switch (exchange.getRequestURI().getPath()) {
        case "/refused" -> exchange.sendResponseHeaders(401, -1);
        case "/fails" -> throw new IllegalStateException("as the test wants it");
        case "/stream" -> stream(exchange);
        default -> {
          String body =
              new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
          byte[] text =
              (exchange.getRequestMethod() + " " + exchange.getRequestURI() + " '" + body + "'")
                  .getBytes(StandardCharsets.UTF_8);
          boolean head = exchange.getRequestMethod().equals("HEAD");
          exchange.sendResponseHeaders(200, head ? -1 : text.length);
          if (!head) {
            exchange.getResponseBody().write(text);
          }
        }
      }
    }
  }

  private void stream(HttpExchange exchange) throws IOException {
    exchange.sendResponseHeaders(200, 0);
    try {
      while (true) {
        exchange.getResponseBody().write(new byte[100_000]);
      }
    } catch (IOException e) {
      broken.complete(e);
      throw e;
    }
  }

  private static HttpLimits patient() {
    return new HttpLimits(CONNECTIONS, LONG_MILLIS, LONG_MILLIS, LONG_MILLIS, LONG_MILLIS);
  }

  private static InetSocketAddress loopback() {
    return new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
  }

  private Socket connect() throws IOException {
    Socket socket = new Socket(InetAddress.getLoopbackAddress(), port.port());
    socket.setSoTimeout(60_000);
    sockets.add(socket);
    return socket;
  }

  private static void send(Socket socket, String text) throws IOException {
    socket.getOutputStream().write(text.getBytes(StandardCharsets.UTF_8));
  }

  /** Waits until the port has taken all of them: those beyond its limit are closed by then. */
  private static void awaitDisplaced(List<Socket> strangers) throws IOException {
    List<Socket> open = new ArrayList<>(strangers);
    while (open.size() > CONNECTIONS) {
      for (Socket socket : List.copyOf(open)) {
        if (isClosed(socket)) {
          open.remove(socket);
        }
      }
    }
  }

  private static boolean isClosed(Socket socket) throws IOException {
    socket.setSoTimeout(1);
    try {
      return socket.getInputStream().read() < 0;
    } catch (SocketTimeoutException e) {
      return false;
    } catch (SocketException e) {
      return true;
    } finally {
      socket.setSoTimeout(0);
    }
  }

  /** Asks on a connection of its own; returns all that is answered until it is closed. */
  private String ask(String request) throws IOException {
    Socket socket = connect();
    send(socket, request);
    return text(socket);
  }

  private static String text(Socket socket) throws IOException {
    try (InputStream in = socket.getInputStream()) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }
  }
}
