// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.transport.tls.TestAuthority;
import io.gpupool.transport.tls.TlsContext;
import io.gpupool.wire.ClientHello;
import io.gpupool.wire.SessionId;
import io.gpupool.wire.SessionKey;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A pool that speaks TLS on all its ports, and one that wants certificates of its clients. */
class TlsIT {
  private static final String[] HALF = {"-p", "0.5"};
  private static final String LOOPBACK = "IP:127.0.0.1";

  @TempDir static Path folder;
  private static TestAuthority authority;
  private static TestAuthority.Issued live;
  private static Pool pool;

  @BeforeAll
  static void startPool() throws IOException {
    authority = new TestAuthority(folder.resolve("one"));
    live = new TestAuthority.Issued(folder.resolve("live.pem"), folder.resolve("live.key"));
    install(authority.issue("first", LOOPBACK));
    pool = start();
  }

  @AfterAll
  static void stopPool() {
    if (pool != null) {
      pool.close();
    }
  }

  @Test
  void run_overTls_computes() {
    assertThat(pool.server().output()).contains("TLS: certificate of CN=first", "development mode");
    Program.Ended ended = compute(pool).with("GPUPOOL_TLS_CA", authority.root()).run();
    assertThat(ended.output()).as(ended.toString()).contains("vector_add: OK");
    assertThat(ended.errors()).isEmpty();
    assertThat(gpupool("list", "--output", "json", "--tls-ca", authority.root()).output())
        .containsPattern("\"tls\": *true")
        .containsPattern("\"development\": *true");
  }

  @Test
  void agent_overTls_servesPrograms(@TempDir Path socket) {
    requireAgentServes(pool, socket, "sealed, handed over");
  }

  @Test
  void callStreams_relayed_staysWithinTls(@TempDir Path socket) {
    try (Pool relaying = start("--relay-call-streams")) {
      requireAgentServes(relaying, socket, "over TLS relayed");
    }
  }

  @Test
  void callStreams_inTheClear_leaveProgramsAloneWithTheirWorkers(@TempDir Path socket) {
    try (Pool clear = start("--clear-call-streams")) {
      requireAgentServes(clear, socket, "handed over");
    }
  }

  private void requireAgentServes(Pool serving, Path socket, String manner) {
    try (Agent agent = Agent.start(serving, socket, "--tls-ca", authority.root().toString())) {
      Program.Ended ended =
          agent.program(CPrograms.example("vector_add"), Distribution.KERNELS).run();
      assertThat(ended.output()).as(ended.toString()).contains("vector_add: OK");
      assertThat(agent.program().output() + agent.program().errors()).contains(manner);
    }
  }

  @Test
  void client_inClearText_isToldToSpeakTls() throws IOException {
    Program.Ended ended = compute(pool).run();
    assertThat(ended.status()).as(ended.toString()).isEqualTo(69);
    assertThat(ended.errors()).contains("name it as tls://127.0.0.1");
    try (Socket stream = new Socket(InetAddress.getLoopbackAddress(), pool.dataPort())) {
      ClientHello stranger =
          new ClientHello(
              1, 1, SessionId.random(new SecureRandom()), SessionKey.random(new SecureRandom()));
      stream.getOutputStream().write(stranger.encode());
      assertThat(new String(stream.getInputStream().readAllBytes(), StandardCharsets.US_ASCII))
          .contains("over TLS only");
    }
  }

  @Test
  void client_ofAnotherMind_isNotDeceived() {
    TestAuthority other = new TestAuthority(folder.resolve("other"));
    Program.Ended stranger = compute(pool).with("GPUPOOL_TLS_CA", other.root()).run();
    assertThat(stranger.status()).as(stranger.toString()).isEqualTo(69);
    assertThat(stranger.errors()).contains("from nobody who is trusted here", "--tls-ca");

    Program.Ended misnamed =
        gpupool(
            "top", "--tls-ca", authority.root(), "--pool", "tls://localhost:" + pool.controlPort());
    assertThat(misnamed.status()).as(misnamed.toString()).isNotZero();
    assertThat(misnamed.errors()).contains("not for this name").contains("localhost");

    try (Pool clear = Pool.start("soft:1,mem=64Mi")) {
      Program.Ended upgraded =
          gpupool("top", "--tls-ca", authority.root(), "--pool", clear.address());
      assertThat(upgraded.status()).as(upgraded.toString()).isNotZero();
      assertThat(upgraded.errors()).contains("it speaks no TLS");
    }
  }

  @Test
  void certificate_isReplaced_sessionsGoOnAndNewOnesUseTheNewOne() throws Exception {
    TestAuthority next = new TestAuthority(folder.resolve("next"));
    try (Tenant tenant =
        Tenant.of(
            pool.run(HALF, CPrograms.fixture("tenant"), Distribution.KERNELS)
                .with("GPUPOOL_TLS_CA", authority.root())
                .start())) {
      tenant.ask("steady");
      install(next.issue("second", LOOPBACK));
      pool.server().awaitErrorLine(line -> line.contains("TLS files read anew"));
      Program.Ended ended = compute(pool).with("GPUPOOL_TLS_CA", next.root()).run();
      assertThat(ended.output()).as(ended.toString()).contains("vector_add: OK");
      assertThat(compute(pool).with("GPUPOOL_TLS_CA", authority.root()).run().errors())
          .contains("from nobody who is trusted here");
      tenant.assertWorks();
      tenant.assertWorkedSteadily();
    } finally {
      install(authority.issue("first", LOOPBACK));
      pool.server().awaitErrorLine(line -> line.contains("TLS files read anew"));
    }
  }

  @Test
  void mutualTls_withoutCertificate_nothingIsOpen() throws Exception {
    TestAuthority.Issued client = authority.issue("client", "DNS:client");
    try (Pool mutual = start("--tls-client-ca", authority.root().toString())) {
      assertThat(mutual.server().output()).contains("clients need a certificate, too");
      Program.Ended stranger = compute(mutual).with("GPUPOOL_TLS_CA", authority.root()).run();
      assertThat(stranger.status()).as(stranger.toString()).isEqualTo(69);
      assertThat(stranger.errors()).contains("--tls-cert");
      Program.Ended known =
          compute(mutual)
              .with("GPUPOOL_TLS_CA", authority.root())
              .with("GPUPOOL_TLS_CERT", client.certificate())
              .with("GPUPOOL_TLS_KEY", client.key())
              .run();
      assertThat(known.output()).as(known.toString()).contains("vector_add: OK");

      assertThat(
              health(
                  mutual,
                  TlsContext.of(TestAuthority.server(client, Optional.of(authority.root())))))
          .isEqualTo(200);
      assertThatThrownBy(() -> health(mutual, TlsContext.of(authority.client())))
          .isInstanceOf(IOException.class);
    }
  }

  @Test
  void guide_tlsCommands_work(@TempDir Path place) throws IOException {
    List<String> commands = new ArrayList<>();
    for (String line : Files.readAllLines(Distribution.ROOT.resolve("docs/how-to/tls.md"))) {
      if (line.startsWith("openssl ") || line.startsWith("gpupool ")) {
        commands.add(line);
      }
    }
    assertThat(commands).hasSize(5);
    for (String command : commands.subList(0, 3)) {
      Program.Ended ended =
          Program.of("sh", "-c", command.replace("DNS:gpu-1", "DNS:localhost")).in(place).run();
      assertThat(ended.status()).as(command + ended).isZero();
    }
    assertThat(commands.get(3)).endsWith("--tls-cert server.pem --tls-key server.key");
    try (Pool guided =
        Pool.start(
            "soft:1,mem=64Mi",
            "--tls-cert",
            place.resolve("server.pem").toString(),
            "--tls-key",
            place.resolve("server.key").toString())) {
      String command =
          commands
              .get(4)
              .replace("tls://gpu-1", "tls://localhost:" + guided.controlPort())
              .replaceFirst("gpupool", Distribution.gpupool().toString());
      Program.Ended ended = Program.of("sh", "-c", command).in(place).run();
      assertThat(ended.status()).as(command + ended).isZero();
    }
  }

  private static int health(Pool of, TlsContext tls) throws Exception {
    try (HttpClient http = HttpClient.newBuilder().sslContext(tls.context()).build()) {
      URI uri = URI.create("https://127.0.0.1:" + of.httpPort() + "/healthz");
      return http.send(HttpRequest.newBuilder(uri).build(), HttpResponse.BodyHandlers.discarding())
          .statusCode();
    }
  }

  private static Program.Builder compute(Pool on) {
    return on.run(HALF, CPrograms.example("vector_add"), Distribution.KERNELS);
  }

  private static Program.Ended gpupool(Object... arguments) {
    Object[] line = new Object[arguments.length + 1];
    line[0] = Distribution.gpupool();
    System.arraycopy(arguments, 0, line, 1, arguments.length);
    boolean named = Arrays.asList(arguments).contains("--pool");
    return named
        ? Program.of(line).run()
        : Program.of(line).with("GPUPOOL_POOL", pool.address()).run();
  }

  private static Pool start(String... options) {
    String[] all = Arrays.copyOf(options, options.length + 4);
    all[options.length] = "--tls-cert";
    all[options.length + 1] = live.certificate().toString();
    all[options.length + 2] = "--tls-key";
    all[options.length + 3] = live.key().toString();
    return Pool.start("soft:1,mem=1Gi", all);
  }

  /** Replaces what the server uses, in one step each, as tools that renew certificates do. */
  private static void install(TestAuthority.Issued issued) throws IOException {
    move(issued.certificate(), live.certificate());
    move(issued.key(), live.key());
  }

  private static void move(Path from, Path to) throws IOException {
    Path fresh = to.resolveSibling(to.getFileName() + ".new");
    Files.copy(from, fresh, StandardCopyOption.REPLACE_EXISTING);
    Files.move(fresh, to, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
  }
}
