// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.gpupool.transport.tls.TestAuthority;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Programs and servers on one machine, which a unix socket connects. */
class LocalStreamIT {
  private static final String GPUS = "soft:1,mem=64Mi";
  private static final String LOCAL =
      "local streams: 1, shared memories: 2\nlocal streams: 1\nlocal_stream: OK";
  private static final String OVER_TCP =
      "local streams: 0, shared memories: 0\nlocal streams: 0\nlocal_stream: OK";

  @TempDir Path folder;
  private @Nullable TestAuthority authority;

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void program_onTheServersMachine_isConnectedByItsSocket(boolean tls) {
    try (Pool pool = start("auto", tls);
        Agent agent = agent(pool, tls)) {
      Program.Ended ended = agent.program(CPrograms.fixture("local_stream")).run();
      assertThat(ended.output()).as(ended.toString()).contains(LOCAL);
      assertThat(log(agent.program())).contains("over a local socket, handed over");
      assertThat(log(pool.server())).contains("over a local socket");
      pool.awaitIdle();
    }
  }

  /** The agent gives a session that cannot be resumed away as well, and relays nothing. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void program_withoutAResumeWindow_hasTheSocketToo(boolean relays) {
    List<String> options = relays ? List.of("--relay-call-streams") : List.of();
    try (Pool pool = start("auto", true, options.toArray(String[]::new));
        Agent agent = agent(pool, true)) {
      Program.Ended ended =
          agent.program(CPrograms.fixture("local_stream")).with("GPUPOOL_RESUME_WINDOW", "0").run();
      assertThat(ended.output()).as(ended.toString()).contains(LOCAL);
      pool.awaitIdle();
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void stream_breaks_isResumedByTheSocket(boolean tls) {
    try (Pool pool = start("auto", tls);
        Agent agent = agent(pool, tls)) {
      Program.Ended ended = agent.program(CPrograms.fixture("local_stream"), 5).run();
      assertThat(ended.output()).as(ended.toString()).contains(LOCAL);
      assertThat(ended.errors()).contains("again after");
      assertThat(log(agent.program())).contains("resumed, over a local socket, handed over");
      pool.awaitIdle();
    }
  }

  @Test
  void folder_ofAgentAndServer_hasTheSocketForAsLongAsTheServer() throws Exception {
    Path left = folder.resolve("gpupool-stream-0123456789abcdef.sock");
    try (Pool killed = start(folder.toString(), false)) {
      List<Path> own = sockets();
      assertThat(own).hasSize(1);
      killed.server().signal("KILL");
      killed.server().awaitEnd(Duration.ofSeconds(20));
      Files.move(own.getFirst(), left);
    }
    try (Pool pool = start(folder.toString(), false);
        Agent agent = agent(pool, false)) {
      assertThat(sockets()).as("what a killed server left").doesNotContain(left).hasSize(1);
      Program.Ended ended = agent.program(CPrograms.fixture("local_stream"), 1).run();
      assertThat(ended.output()).as(ended.toString()).contains(LOCAL);
    }
    await().until(() -> sockets().isEmpty());
  }

  @Test
  void agent_thatSharesNoFolderWithTheServer_connectsByTcp() throws Exception {
    Path others = Files.createDirectory(folder.resolve("others"));
    try (Pool pool = start(others.toString(), false);
        Agent agent = agent(pool, false)) {
      Program.Ended ended = agent.program(CPrograms.fixture("local_stream")).run();
      assertThat(ended.output()).as(ended.toString()).contains(OVER_TCP);
    }
  }

  @Test
  void agent_thatRelays_connectsByTcp() {
    try (Pool pool = start("auto", false);
        Agent agent = Agent.start(pool, folder, "--relay")) {
      Program.Ended ended = agent.program(CPrograms.fixture("local_stream")).run();
      assertThat(ended.output()).as(ended.toString()).contains(OVER_TCP);
      assertThat(log(agent.program())).contains("relayed").doesNotContain("local socket");
    }
  }

  @Test
  void server_withoutASocket_isConnectedByTcp() {
    try (Pool pool = start("none", true);
        Agent agent = agent(pool, true)) {
      Program.Ended ended = agent.program(CPrograms.fixture("local_stream")).run();
      assertThat(ended.output()).as(ended.toString()).contains(OVER_TCP);
      assertThat(log(agent.program())).contains("sealed, handed over");
    }
  }

  @Test
  void server_inAFolderThatIsNotThere_doesNotStart() {
    Program.Ended ended =
        Pool.command(0, GPUS, "--local-socket", folder.resolve("missing").toString()).run();
    assertThat(ended.status()).as(ended.toString()).isNotZero();
    assertThat(ended.errors()).contains("cannot make a socket in", "--local-socket none");
  }

  private Pool start(String socket, boolean tls, String... options) {
    List<String> all = new ArrayList<>(List.of(options));
    if (tls) {
      TestAuthority.Issued issued = authority().issue("server", "IP:127.0.0.1");
      all.addAll(List.of("--tls-cert", issued.certificate().toString()));
      all.addAll(List.of("--tls-key", issued.key().toString()));
    }
    return Pool.startIn(Map.of(Pool.LOCAL_SOCKET, socket), GPUS, all.toArray(String[]::new));
  }

  private Agent agent(Pool pool, boolean tls) {
    return tls
        ? Agent.start(pool, folder, "--tls-ca", authority().root().toString())
        : Agent.start(pool, folder);
  }

  private TestAuthority authority() {
    if (authority == null) {
      authority = new TestAuthority(folder.resolve("authority"));
    }
    return authority;
  }

  private List<Path> sockets() throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.filter(file -> file.toString().contains("gpupool-stream-")).toList();
    }
  }

  private static String log(Program program) {
    return program.output() + program.errors();
  }
}
