// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.control.v1.ListRequest;
import io.gpupool.control.v1.OpenSessionReply;
import io.gpupool.control.v1.ResumeSessionReply;
import io.gpupool.control.v1.ResumeSessionRequest;
import io.gpupool.server.stream.CallStreamPort;
import io.gpupool.wire.ClientHello;
import io.gpupool.wire.ServerHello;
import io.gpupool.wire.SessionId;
import io.gpupool.wire.SessionKey;
import java.io.IOException;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Hostile bytes on the call-stream port, while a program works on another connection. */
class CallStreamFuzzIT {
  private static final int CASES = 2_000;

  @Test
  void handshake_hostileBytes_serverAndOtherSessionsGoOn() throws Exception {
    try (Pool pool = new Pool("soft:1", 0)) {
      Pool.Held held =
          pool.lease(LeaseRequest.newBuilder().setFraction(0.5).setResumeWindowMillis(60_000));
      byte[] good = Pool.hello(pool.session(held.lease())).encode();
      OpenSessionReply own = pool.session(held.lease());
      try (Pool.Stream program = pool.connect(own)) {
        assertThat(program.answer().isAccepted()).isTrue();
        byte[] resuming = resuming(pool, own);
        long descriptors = openDescriptors();
        Random random = new Random(5);
        for (int i = 0; i < CASES; i++) {
          attack(pool, random, i % 2 == 0 ? good : resuming);
          if (i % 100 == 0) {
            assertThat(program.say("echo " + i)).isEqualTo("" + i);
          }
        }
        await().until(() -> openDescriptors() <= descriptors + 2);
        assertThat(program.say("echo end")).isEqualTo("end");
      }
      assertThat(pool.stub.listSessions(ListRequest.getDefaultInstance()).getSessionsCount())
          .isLessThanOrEqualTo(2);
    }
  }

  @Test
  void handshake_manySilentConnections_programStillGetsThrough() throws Exception {
    List<Socket> silent = new ArrayList<>();
    try (Pool pool = new Pool("soft:1", 0)) {
      Pool.Held held = pool.lease(0.5);
      for (int i = 0; i < CallStreamPort.MAX_UNFINISHED + 50; i++) {
        silent.add(new Pool.Stream(pool.server.dataPort()).socket);
      }
      try (Pool.Stream program = pool.connect(pool.session(held.lease()))) {
        assertThat(program.answer().isAccepted()).isTrue();
        assertThat(program.say("echo through")).isEqualTo("through");
      }
      assertThat(silent.getFirst().getInputStream().read()).isEqualTo(-1);
    } finally {
      for (Socket socket : silent) {
        socket.close();
      }
    }
  }

  /** The handshake of one who resumes a session that is connected, as its program might. */
  private static byte[] resuming(Pool pool, OpenSessionReply session) throws Exception {
    ResumeSessionReply key =
        pool.stub.resumeSession(
            ResumeSessionRequest.newBuilder()
                .setSessionId(session.getSessionId())
                .setSessionKey(session.getSessionKey())
                .build());
    return ClientHello.resuming(
            1,
            1,
            SessionId.ofBytes(session.getSessionId().toByteArray()),
            SessionKey.ofBytes(key.getResumeKey().toByteArray()))
        .encode();
  }

  private static void attack(Pool pool, Random random, byte[] good) throws Exception {
    try (Pool.Stream stream = new Pool.Stream(pool.server.dataPort())) {
      byte[] bytes = good.clone();
      int kind = random.nextInt(5);
      switch (kind) {
        case 0 -> random.nextBytes(bytes);
        case 1 -> bytes = java.util.Arrays.copyOf(bytes, random.nextInt(bytes.length));
        case 2 -> {
          bytes = new byte[random.nextInt(100_000)];
          random.nextBytes(bytes);
        }
        // One bit of flags, id or key is turned, so it can never be right.
        default ->
            bytes[12 + random.nextInt(ClientHello.BYTES - 12)] ^= (byte) (1 << random.nextInt(8));
      }
      try {
        stream.socket.getOutputStream().write(bytes);
        if (kind > 2) {
          assertThat(stream.answer().status()).isNotEqualTo(ServerHello.ACCEPTED);
        }
      } catch (IOException e) {
        // the server may have hung up first
      }
    }
  }

  private static long openDescriptors() throws IOException {
    try (Stream<Path> files = Files.list(Path.of("/proc/self/fd"))) {
      return files.count();
    }
  }
}
