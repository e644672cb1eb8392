// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.agent.options.AgentOptions;
import io.gpupool.agent.options.AgentSockets;
import io.gpupool.client.connection.ClientSecurity;
import io.gpupool.client.connection.PoolAddress;
import io.gpupool.client.lease.LeaseOptions;
import io.gpupool.server.Pool;
import io.gpupool.server.state.etcd.Etcd;
import io.gpupool.server.state.etcd.EtcdOptions;
import io.gpupool.transport.EventLoops;
import io.gpupool.transport.UnixAddress;
import io.gpupool.transport.tls.TestAuthority;
import io.gpupool.transport.tls.TlsFiles;
import io.netty.channel.EventLoopGroup;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Programs with the GPUs of two real pool-servers over an etcd, whose workers are the test's. */
class SeveralStreamsIT {
  private static final Duration LIMIT = Duration.ofSeconds(60);

  /** A busy machine is not to be given up. */
  private static final int TTL_SECONDS = 30;

  private static final EventLoopGroup LOOPS = EventLoops.create("streams-test", 1);
  private static int number;

  @TempDir static Path folder;
  private static Etcd etcd;

  @BeforeAll
  static void start() throws Exception {
    etcd = Etcd.start(Files.createDirectory(folder.resolve("etcd")), 1);
  }

  @AfterAll
  static void stop() {
    if (etcd != null) {
      etcd.close();
    }
    LOOPS.shutdownGracefully(0, 1, TimeUnit.SECONDS);
  }

  /** A pool of two servers, and an agent that asks the first one. */
  private static final class Site implements AutoCloseable {
    private final Pool first;
    private final Pool second;
    private final Agent agent;
    private final UnixAddress socket =
        new UnixAddress("@gpupool-streams-" + ProcessHandle.current().pid() + "-" + number++);

    Site(String prefix, TlsFiles tls, ClientSecurity security, boolean relay) throws Exception {
      EtcdOptions state = EtcdOptions.parse(etcd.url(prefix), null, null, null, TTL_SECONDS);
      first = Pool.ofSeveral("soft:2", "a", state, tls);
      second = Pool.ofSeveral("soft:2", "b", state, tls);
      PoolAddress address = new PoolAddress("127.0.0.1", first.server.controlPort());
      agent =
          Agent.start(
              new AgentOptions(
                  new AgentSockets(socket, null),
                  address,
                  null,
                  security,
                  LeaseOptions.NOTHING,
                  relay,
                  null,
                  false),
              LOOPS);
    }

    /** A program with all four GPUs; waits until the servers know each other. */
    Shim attach() throws Exception {
      long untilNanos = System.nanoTime() + LIMIT.toNanos();
      while (true) {
        Shim shim = new Shim(socket);
        shim.attach(Shim.attach().put("gpus", 4).put("fraction", "0.5"));
        if (shim.answer.type().equals("attached") || System.nanoTime() > untilNanos) {
          return shim;
        }
        shim.close();
        Thread.sleep(100);
      }
    }

    @Override
    public void close() {
      agent.close();
      first.close();
      second.close();
    }
  }

  @Test
  void attach_gpusOfTwoServers_hasAStreamToEachAndTheirWorkersMeet() throws Exception {
    try (Site site = new Site("plain", TlsFiles.NONE, ClientSecurity.DEFAULT, false)) {
      requireWorks(site);
      try (Shim one = site.attach();
          Shim other = site.attach()) {
        assertThat(one.say(1, "connect 0 " + one.get("session.0") + " " + other.get("peer_key.0")))
            .as("with the key of another session")
            .contains("error: server a: call stream at")
            .contains("refuses: no such session, or it has another peer key");
        assertThat(one.say(0, "connect 1 " + one.get("session.1") + " " + one.get("peer_key.1")))
            .contains("error: link 1 cannot be asked for by link 0 of 2");
        assertThat(one.say(1, "connect 7 " + one.get("session.0") + " " + one.get("peer_key.0")))
            .contains("error: link 7 cannot be asked for by link 1 of 2");
        assertThat(one.say(0, "crash")).isNull();
        assertThat(other.say(1, "echo still")).isEqualTo("still");
      }
    }
  }

  @Test
  void attach_relayed_hasAStreamToEach() throws Exception {
    try (Site site = new Site("relayed", TlsFiles.NONE, ClientSecurity.DEFAULT, true)) {
      requireWorks(site);
    }
  }

  @Test
  void attach_overTls_hasAStreamToEachAndTheirWorkersMeetOverTls() throws Exception {
    TestAuthority authority = new TestAuthority(Files.createDirectory(folder.resolve("tls")));
    TlsFiles tls =
        TestAuthority.server(
            authority.issue("server", "IP:127.0.0.1,DNS:localhost"), Optional.of(authority.root()));
    TlsFiles own = new TlsFiles(tls.certificate(), tls.key(), authority.root());
    try (Site site = new Site("tls", tls, new ClientSecurity(own, false, false), false)) {
      requireWorks(site);
    }
  }

  private static void requireWorks(Site site) throws Exception {
    try (Shim shim = site.attach()) {
      assertThat(shim.get("streams")).describedAs("%s", shim.answer).isEqualTo("2");
      assertThat(shim.get("mode")).isEqualTo("descriptor");
      assertThat(List.of(shim.get("server.0"), shim.get("server.1"))).containsExactly("a", "b");
      for (int link = 0; link < 2; link++) {
        assertThat(shim.say(link, "gpus")).isEqualTo("0:4294967296:50,1:4294967296:50");
        assertThat(shim.say(link, "slot")).isEqualTo(Integer.toString(link));
        String port =
            link == 0 ? ":" + site.first.server.dataPort() : ":" + site.second.server.dataPort();
        assertThat(shim.get("stream." + link)).endsWith(port);
      }
      String connect = "connect 0 " + shim.get("session.0") + " " + shim.get("peer_key.0");
      assertThat(shim.say(1, connect)).isEqualTo("ok");
      assertThat(shim.say(1, "tell 0 hello")).isEqualTo("ok");
      assertThat(shim.say(0, "hear 1")).isEqualTo("hello");
      assertThat(shim.say(0, "tell 1 back")).isEqualTo("ok");
      assertThat(shim.say(1, "hear 0")).isEqualTo("back");
      String big = "x".repeat(1 << 20);
      assertThat(shim.say(1, "echo " + big)).hasSize(big.length());
    }
  }
}
