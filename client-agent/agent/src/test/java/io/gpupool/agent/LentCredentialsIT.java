// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.agent.options.AgentOptions;
import io.gpupool.agent.options.AgentSockets;
import io.gpupool.client.RecordingPool;
import io.gpupool.client.connection.ClientSecurity;
import io.gpupool.client.connection.PoolAddress;
import io.gpupool.client.lease.LeaseOptions;
import io.gpupool.transport.EventLoops;
import io.gpupool.transport.UnixAddress;
import io.gpupool.transport.tls.TestAuthority;
import io.gpupool.transport.tls.TlsFiles;
import io.gpupool.wire.TextMessage;
import io.netty.channel.EventLoopGroup;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The token and certificate of an agent, and the pools to which programs turn through it. */
class LentCredentialsIT {
  private static final EventLoopGroup LOOPS = EventLoops.create("lent-test", 1);
  private static final String OF_AGENT = "Bearer agents-token";
  private static int number;

  private final UnixAddress socket =
      new UnixAddress("@gpupool-lent-test-" + ProcessHandle.current().pid() + "-" + number++);
  private Agent agent;

  @AfterEach
  void stopAgent() {
    if (agent != null) {
      agent.close();
    }
  }

  @AfterAll
  static void stopLoops() {
    LOOPS.shutdownGracefully(0, 1, TimeUnit.SECONDS);
  }

  @Test
  void token_ofTheAgent_isShownToItsOwnPoolOnly() throws Exception {
    try (RecordingPool own = new RecordingPool(TlsFiles.NONE, 0);
        RecordingPool other = new RecordingPool(TlsFiles.NONE, 0)) {
      start(own.address(), ClientSecurity.DEFAULT);
      ask(Shim.attach().put("pool", other.address().toString()));
      ask(TextMessage.ofType("nvml").put("protocol", 1).put("pool", other.address().toString()));
      assertThat(other.authorizations()).isNotEmpty().containsOnly(RecordingPool.NONE);
      assertThat(own.authorizations()).isEmpty();
      ask(Shim.attach());
      ask(Shim.attach().put("pool", own.address().toString()));
      assertThat(own.authorizations()).hasSizeGreaterThanOrEqualTo(2).containsOnly(OF_AGENT);
    }
  }

  @Test
  void token_ofTheProgram_goesToThePoolThatItNames() throws Exception {
    try (RecordingPool own = new RecordingPool(TlsFiles.NONE, 0);
        RecordingPool other = new RecordingPool(TlsFiles.NONE, 0)) {
      start(own.address(), ClientSecurity.DEFAULT);
      ask(Shim.attach().put("pool", other.address().toString()).put("token", "mine"));
      assertThat(other.authorizations()).isNotEmpty().containsOnly("Bearer mine");
      ask(Shim.attach().put("token", "mine"));
      assertThat(own.authorizations()).isNotEmpty().containsOnly("Bearer mine");
    }
  }

  @Test
  void token_poolThatIsPartlyTheAgents_isNotShown() throws Exception {
    try (RecordingPool own = new RecordingPool(TlsFiles.NONE, 0);
        RecordingPool other = new RecordingPool(TlsFiles.NONE, 0)) {
      start(own.address(), ClientSecurity.DEFAULT);
      ask(Shim.attach().put("pool", other.address() + "," + own.address()));
      assertThat(other.authorizations()).isNotEmpty().containsOnly(RecordingPool.NONE);
      assertThat(own.authorizations()).doesNotContain(OF_AGENT);
    }
  }

  @Test
  void token_serverOfTheAgentsPool_isShown() throws Exception {
    try (RecordingPool first = new RecordingPool(TlsFiles.NONE, 0);
        RecordingPool second = new RecordingPool(TlsFiles.NONE, 0)) {
      PoolAddress both = PoolAddress.parse(first.address() + "," + second.address());
      start(both, ClientSecurity.DEFAULT);
      ask(Shim.attach().put("pool", second.address().toString()));
      assertThat(second.authorizations()).isNotEmpty().containsOnly(OF_AGENT);
    }
  }

  @Test
  void token_sameAddressWithoutTheTlsOfTheAgent_isNotShown() throws Exception {
    try (RecordingPool clear = new RecordingPool(TlsFiles.NONE, 0)) {
      start(new PoolAddress("127.0.0.1", clear.address().port(), true), ClientSecurity.DEFAULT);
      ask(Shim.attach().put("pool", clear.address().toString()));
      assertThat(clear.authorizations()).isNotEmpty().containsOnly(RecordingPool.NONE);
    }
  }

  @Test
  void certificate_ofTheAgent_isShownToItsOwnPoolOnly(@TempDir Path folder) throws Exception {
    TestAuthority authority = new TestAuthority(folder);
    TlsFiles asking =
        TestAuthority.server(
            authority.issue("server", "IP:127.0.0.1,DNS:localhost"), Optional.of(authority.root()));
    TlsFiles client = new TlsFiles(asking.certificate(), asking.key(), asking.trusted());
    ClientSecurity security = new ClientSecurity(client, false, false);
    try (RecordingPool own = new RecordingPool(asking, 0);
        RecordingPool other = new RecordingPool(asking, 0)) {
      start(own.address(), security);
      ask(Shim.attach());
      assertThat(own.authorizations()).isNotEmpty().containsOnly(OF_AGENT);
      TextMessage refusal =
          ask(Shim.attach().put("pool", other.address().toString()).put("token", "mine"));
      assertThat(other.authorizations()).isEmpty();
      assertThat(refusal.get("message").orElse("")).contains("certificate");
    }
  }

  private void start(PoolAddress pool, ClientSecurity security) throws Exception {
    agent =
        Agent.start(
            new AgentOptions(
                new AgentSockets(socket, null),
                pool,
                "agents-token",
                security,
                LeaseOptions.NOTHING,
                false,
                null,
                true),
            LOOPS);
  }

  private TextMessage ask(TextMessage.Builder request) throws Exception {
    try (Shim shim = new Shim(socket)) {
      TextMessage answer = shim.ask(request.build());
      assertThat(answer.type()).describedAs("%s", answer).isEqualTo("refused");
      return answer;
    }
  }
}
