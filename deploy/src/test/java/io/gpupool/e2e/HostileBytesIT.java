// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.cuda.Ops;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.Random;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Bytes that no shim would send, over real sockets to real processes, while a tenant works. (The
 * modules try a million cases and more against the same code in their own process.)
 */
class HostileBytesIT {
  private static final int CASES = 1000;
  private static final int RESUMPTIONS = 500;
  private static final int HANDSHAKE_BYTES = 64;
  private static final int MAGIC = 0x31415047;
  private static final long MOST_RESIDENT_BYTES = 768L << 20;

  private static Pool pool;

  @BeforeAll
  static void startPool() {
    pool = Pool.start("soft:1,mem=1Gi");
  }

  @AfterAll
  static void stopPool() {
    if (pool != null) {
      pool.close();
    }
  }

  /** An agent that is told to stop may be gone before its leases are. */
  @AfterEach
  void returnLeases() {
    pool.awaitIdle();
  }

  @Test
  void callStreamPort_malformedBytes_hurtNobody() throws IOException {
    try (Tenant tenant = Tenant.start(pool, "-p", "0.5")) {
      tenant.ask("steady");
      attack(new InetSocketAddress("127.0.0.1", pool.dataPort()), HostileBytesIT::handshake);
      tenant.assertWorkedSteadily();
      assertThat(pool.server().isAlive()).isTrue();
      RunIT.assertComputes(pool);
    }
  }

  @Test
  void agentSocket_malformedBytes_hurtNobody(@TempDir Path folder) throws IOException {
    try (Agent agent = Agent.start(pool, folder);
        Tenant tenant =
            Tenant.of(agent.program(CPrograms.fixture("tenant"), Distribution.KERNELS).start())) {
      tenant.ask("steady");
      attack(UnixDomainSocketAddress.of(agent.socket()), HostileBytesIT::attachMessage);
      tenant.assertWorkedSteadily();
      assertThat(agent.program().isAlive()).isTrue();
      Program.Ended ended =
          agent.program(CPrograms.example("vector_add"), Distribution.KERNELS).run();
      assertThat(ended.output()).as(ended.toString()).contains("vector_add: OK");
    }
  }

  @Test
  void agentSocket_manyResumptionsOfAStolenSession_hurtNobody(@TempDir Path folder)
      throws Exception {
    try (Agent agent = Agent.start(pool, folder);
        RawProgram victim = RawProgram.start(pool, 60_000);
        Tenant tenant =
            Tenant.of(agent.program(CPrograms.fixture("tenant"), Distribution.KERNELS).start())) {
      tenant.ask("steady");
      Random random = new Random(9);
      for (int i = 0; i < RESUMPTIONS; i++) {
        assertThat(refusal(agent, victim.hexId(), random))
            .as("answer %d", i)
            .contains("type=refused")
            .contains("no such session");
      }
      tenant.assertWorkedSteadily();
      assertThat(Processes.residentBytes(agent.program().pid())).isLessThan(MOST_RESIDENT_BYTES);
      victim.cut();
      victim.resume();
      assertThat(victim.call(Ops.ctxSynchronize).result()).isZero();
    }
  }

  /** Asks the agent for a connection to a session with a guessed key. Returns its answer. */
  private static String refusal(Agent agent, String session, Random random) throws IOException {
    byte[] key = new byte[32];
    random.nextBytes(key);
    byte[] text = resumeText(session, HexFormat.of().formatHex(key)).getBytes(UTF_8);
    ByteBuffer message = ByteBuffer.allocate(8 + text.length).order(ByteOrder.LITTLE_ENDIAN);
    message.putInt(MAGIC).putInt(text.length).put(text).flip();
    try (SocketChannel channel = SocketChannel.open(UnixDomainSocketAddress.of(agent.socket()))) {
      channel.write(message);
      ByteBuffer answer = ByteBuffer.allocate(1 << 16);
      while (channel.read(answer) >= 0) {
        // up to its end
      }
      return new String(answer.array(), 0, answer.position(), UTF_8);
    }
  }

  private static String resumeText(String session, String key) {
    return "type=resume\nprotocol=1\npid=1\nprogram=x\nsession="
        + session
        + "\nsession_key="
        + key
        + "\nresume_window=60\nholds=1\n";
  }

  private interface Message {
    ByteBuffer next(Random random);
  }

  private static void attack(SocketAddress address, Message message) throws IOException {
    Random random = new Random(7);
    for (int i = 0; i < CASES; i++) {
      try (SocketChannel channel = SocketChannel.open(address)) {
        ByteBuffer bytes = message.next(random);
        while (bytes.hasRemaining()) {
          channel.write(bytes);
        }
        if (i % 10 == 0) {
          channel.shutdownOutput();
          channel.read(ByteBuffer.allocate(256));
        }
      } catch (IOException e) {
        // It may close the connection at any time; that it takes the next one is what counts.
        assertThat(e.getMessage()).containsAnyOf("reset", "Broken pipe", "closed");
      }
    }
  }

  /** A handshake of port 7641 with something wrong in it, and bytes after it. */
  private static ByteBuffer handshake(Random random) {
    ByteBuffer bytes = ByteBuffer.allocate(HANDSHAKE_BYTES + random.nextInt(200));
    bytes.order(ByteOrder.LITTLE_ENDIAN);
    random.nextBytes(bytes.array());
    int kind = random.nextInt(5);
    if (kind > 0) {
      bytes.put(0, "GPUPOOL\u0001".getBytes(java.nio.charset.StandardCharsets.ISO_8859_1));
    }
    if (kind > 1) {
      // As of a program, or of one that resumes its session.
      bytes.putShort(8, (short) 1).putShort(10, (short) 1).putInt(12, kind == 4 ? 2 : 0);
    }
    return kind == 3 ? bytes.limit(random.nextInt(HANDSHAKE_BYTES)) : bytes;
  }

  /** A message of the agent's socket whose magic, length, text or end is wrong. */
  private static ByteBuffer attachMessage(Random random) {
    byte[] text =
        switch (random.nextInt(6)) {
          case 4 -> resumeText("00", "xyz").getBytes(UTF_8);
          case 5 -> resumeText("0".repeat(32), "f".repeat(random.nextInt(80))).getBytes(UTF_8);
          case 0 -> new byte[random.nextInt(300)];
          case 1 -> "type=attach\nprotocol=99\npid=-1\n".getBytes(UTF_8);
          case 2 -> "type=attach\nprotocol=1\nlease=a.b\nfraction=NaN\nmemory=-7\n".getBytes(UTF_8);
          default -> "type=attached\n\\\\=\\\nx".getBytes(UTF_8);
        };
    if (random.nextInt(3) == 0) {
      random.nextBytes(text);
    }
    ByteBuffer bytes = ByteBuffer.allocate(8 + text.length).order(ByteOrder.LITTLE_ENDIAN);
    bytes.putInt(random.nextInt(4) == 0 ? random.nextInt() : MAGIC);
    bytes.putInt(random.nextInt(3) == 0 ? random.nextInt() : text.length + random.nextInt(3) - 1);
    return bytes.put(text).flip();
  }
}
