// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.agent.options.AgentOptions;
import io.gpupool.agent.options.AgentSockets;
import io.gpupool.client.connection.ClientSecurity;
import io.gpupool.client.lease.LeaseOptions;
import io.gpupool.runtime.NetworkNamespace;
import io.gpupool.transport.EventLoops;
import io.gpupool.transport.UnixAddress;
import io.gpupool.transport.tls.TestAuthority;
import io.gpupool.transport.tls.TlsFiles;
import io.gpupool.wire.TextMessage;
import io.netty.channel.EventLoopGroup;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Call streams that the agent connects by a socket of its own machine, and those that it does not.
 */
class LocalStreamsIT {
  private static final EventLoopGroup LOOPS = EventLoops.create("local-streams-test", 1);
  private static final String NAME = "gpupool-stream-0123456789abcdef";
  private static final String FILE = NAME + ".sock";
  private static final long WINDOW_MILLIS = 60_000;

  @TempDir Path folder;

  @AfterAll
  static void stopLoops() {
    LOOPS.shutdownGracefully(0, 1, TimeUnit.SECONDS);
  }

  @Test
  void attach_serverHasASocket_isConnectedByIt() throws Exception {
    String unique = "@gpupool-stream-%016x".formatted(ProcessHandle.current().pid());
    for (String name : new String[] {FILE, unique}) {
      try (ResumingPool pool = pool(TlsFiles.NONE, name);
          Agent agent = start(pool, TlsFiles.NONE, false);
          Shim shim = attach(true)) {
        assertThat(agent).isNotNull();
        assertThat(pool.localStreams()).isOne();
        assertThat(shim.get("local.0")).isEqualTo("1");
        assertThat(pool.opened.getFirst().getNetworkNamespace()).isEqualTo(NetworkNamespace.TEXT);
        pool.cut();
        assertThat(shim.readLine()).isNull();
        try (Shim again = resume(shim)) {
          assertThat(again.get("local")).isEqualTo("1");
          assertThat(again.say("hello")).isEqualTo("again hello");
          assertThat(pool.localStreams()).isEqualTo(2);
        }
      }
    }
  }

  /** The stream is in clear text although the pool's port speaks TLS, and not to be sealed. */
  @ParameterizedTest
  @ValueSource(longs = {0, WINDOW_MILLIS})
  void attach_poolWithTls_handsTheStreamOverAndGivesNoSecret(long windowMillis) throws Exception {
    TestAuthority authority = new TestAuthority(folder.resolve("authority"));
    TestAuthority.Issued issued = authority.issue("server", "IP:127.0.0.1");
    TlsFiles server = new TlsFiles(issued.certificate(), issued.key(), null);
    TlsFiles client = new TlsFiles(null, null, authority.root());
    try (ResumingPool pool = new ResumingPool(server, windowMillis);
        Agent agent = start(pool, client, false)) {
      assertThat(agent).isNotNull();
      pool.listen(folder.resolve(FILE).toString(), FILE);
      pool.seals = true;
      try (Shim shim = attach(true)) {
        assertThat(shim.get("mode")).isEqualTo("descriptor");
        assertThat(shim.answer.get("secret.0")).isEmpty();
        assertThat(pool.localStreams()).isOne();
      }
    }
  }

  @Test
  void attach_nothingListensByTheName_isConnectedByTcp() throws Exception {
    try (ResumingPool pool = new ResumingPool(TlsFiles.NONE, WINDOW_MILLIS);
        Agent agent = start(pool, TlsFiles.NONE, false)) {
      assertThat(agent).isNotNull();
      for (String name : new String[] {FILE, "@" + NAME}) {
        pool.localSocket = name;
        try (Shim shim = attach(true)) {
          assertThat(shim.answer.get("local.0")).isEmpty();
        }
      }
      assertThat(pool.localStreams()).isZero();
    }
  }

  @Test
  void attach_nameOfAnotherForm_isNotFollowed() throws Exception {
    Path elsewhere = Files.createDirectory(folder.resolve("elsewhere"));
    try (ResumingPool pool = new ResumingPool(TlsFiles.NONE, WINDOW_MILLIS);
        Agent agent = start(pool, TlsFiles.NONE, false)) {
      assertThat(agent).isNotNull();
      for (String name :
          new String[] {
            "elsewhere/" + FILE, elsewhere.resolve(FILE).toString(), "other.sock", "../" + FILE
          }) {
        Path file = folder.resolve(name).normalize();
        if (file.startsWith(folder)) {
          Files.deleteIfExists(file);
          pool.listen(file.toString(), name);
        } else {
          pool.localSocket = name;
        }
        attach(true).close();
      }
      assertThat(pool.localStreams()).isZero();
    }
  }

  @Test
  void attach_folderWhereEverybodyCanMakeSockets_isConnectedByTcp() throws Exception {
    try (ResumingPool pool = pool(TlsFiles.NONE, FILE);
        Agent agent = start(pool, TlsFiles.NONE, false)) {
      assertThat(agent).isNotNull();
      Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxrwxrwx"));
      attach(true).close();
      assertThat(pool.localStreams()).isZero();
    }
  }

  @Test
  void attach_shimThatCannotShareOrAgentThatRelays_asksForNoSocket() throws Exception {
    for (boolean relay : new boolean[] {false, true}) {
      try (ResumingPool pool = pool(TlsFiles.NONE, "");
          Agent agent = start(pool, TlsFiles.NONE, relay);
          Shim shim = attach(relay)) {
        assertThat(agent).isNotNull();
        assertThat(shim.get("mode")).isEqualTo("descriptor");
        assertThat(pool.opened.getLast().getCanShareMemory()).isFalse();
      }
    }
  }

  private ResumingPool pool(TlsFiles tls, String name) throws Exception {
    ResumingPool pool = new ResumingPool(tls, WINDOW_MILLIS);
    if (!name.isEmpty()) {
      Files.deleteIfExists(folder.resolve(FILE));
      pool.listen(name.startsWith("@") ? name : folder.resolve(name).toString(), name);
    }
    return pool;
  }

  private Agent start(ResumingPool pool, TlsFiles tls, boolean relay) throws Exception {
    return Agent.start(
        new AgentOptions(
            new AgentSockets(socket(), null),
            pool.address(),
            null,
            new ClientSecurity(tls, false, false),
            LeaseOptions.NOTHING,
            relay,
            null,
            false),
        LOOPS);
  }

  private UnixAddress socket() {
    return new UnixAddress(folder.resolve("agent.sock").toString());
  }

  private Shim attach(boolean shares) throws Exception {
    Shim shim = new Shim(socket());
    TextMessage.Builder request = Shim.attach().put("lease", "L1.secret").put("seals", 1);
    shim.attach(shares ? request.put("shares", 1) : request);
    assertThat(shim.answer.type()).describedAs("%s", shim.answer).isEqualTo("attached");
    assertThat(shim.say("hello")).isEqualTo("hello");
    return shim;
  }

  private Shim resume(Shim broken) throws Exception {
    Shim again = new Shim(socket());
    again.attach(Shim.resume(broken).put("holds", 0).put("shares", 1));
    assertThat(again.answer.type()).describedAs("%s", again.answer).isEqualTo("resumed");
    return again;
  }
}
