// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.control;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.wire.TextMessage;
import io.gpupool.worker.os.ListeningSocket;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.os.UnixSocket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(30)
class ClaimListenerTest {
  private static final String TOKEN = "the token";
  private static final long SOON_MILLIS = 20_000;

  @TempDir Path folder;

  private final int[] first = Posix.socketPair();
  private final UnixSocket firstServer = new UnixSocket(first[0]);
  private ListeningSocket listening;
  private ClaimListener listener;

  @BeforeEach
  void listen() throws Exception {
    listening = ListeningSocket.bind(path());
    listener = new ClaimListener(listening, TOKEN);
    listener.begin(new ControlLink(new UnixSocket(first[1])));
  }

  @AfterEach
  void close() {
    firstServer.close();
  }

  private String path() {
    return folder.resolve("worker.sock").toString();
  }

  private static TextMessage.Builder claim(String token, int protocol) {
    return TextMessage.ofType("claim")
        .put("protocol", protocol)
        .put("token", token)
        .put("inbox", 1);
  }

  /** A server that says this and hands an inbox over. */
  private UnixSocket server(TextMessage said) throws Exception {
    UnixSocket server = UnixSocket.connect(path());
    server.write(said.encode());
    int[] inbox = Posix.socketPair();
    server.sendDescriptor(inbox[1]);
    Posix.close(inbox[0]);
    Posix.close(inbox[1]);
    return server;
  }

  private static boolean hasEnded(UnixSocket server) throws Exception {
    return server.read(ByteBuffer.allocate(1), 1) < 0;
  }

  private void assertThatAClaimSucceeds() throws Exception {
    try (UnixSocket server = server(claim(TOKEN, 1).put("later", "field").build())) {
      Claim claim = listener.await(SOON_MILLIS).orElseThrow();
      claim.socket().write(TextMessage.ofType("hello").build().encode());
      assertThat(new ControlLink(server).receive().orElseThrow().type()).isEqualTo("hello");
      assertThat(claim.inbox()).isNotNull();
      claim.close();
    }
  }

  @Test
  void socketsFile_isForItsOwnerAlone() throws Exception {
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(Path.of(path()))))
        .isEqualTo("rw-------");
  }

  @Test
  void claim_withTheToken_cutsTheConnectionBeforeIt() throws Exception {
    assertThatAClaimSucceeds();
    assertThat(hasEnded(firstServer)).isTrue();
    try (UnixSocket second = server(claim(TOKEN, 1).build())) {
      Claim ignored = listener.await(SOON_MILLIS).orElseThrow();
      assertThatAClaimSucceeds();
      assertThat(hasEnded(second)).isTrue();
    }
  }

  @Test
  void claim_withAnotherToken_isRefusedAndChangesNothing() throws Exception {
    try (UnixSocket server = server(claim("a guess", 1).build())) {
      TextMessage refused = new ControlLink(server).receive().orElseThrow();
      assertThat(refused.type()).isEqualTo("refused");
      assertThat(refused.get("protocol")).contains("1");
      assertThat(refused.get("reason").orElseThrow()).contains("token");
      assertThat(hasEnded(server)).isTrue();
    }
    firstServer.write(new byte[1]);
    assertThat(listener.await(0)).isEmpty();
    assertThatAClaimSucceeds();
  }

  @Test
  void claim_inAnotherProtocol_isRefusedWithTheOwnOne() throws Exception {
    try (UnixSocket server = server(claim(TOKEN, 2).build())) {
      TextMessage refused = new ControlLink(server).receive().orElseThrow();
      assertThat(refused.type()).isEqualTo("refused");
      assertThat(refused.get("protocol")).contains("1");
    }
    assertThatAClaimSucceeds();
  }

  @Test
  void connections_thatAreNoClaims_areClosedAndKeepNobodyOut() throws Exception {
    try (UnixSocket garbage = UnixSocket.connect(path())) {
      garbage.write("GET / HTTP/1.1\r\nHost: worker\r\n\r\n".getBytes(StandardCharsets.UTF_8));
      assertThat(hasEnded(garbage)).isTrue();
    }
    UnixSocket.connect(path()).close();
    try (UnixSocket half = UnixSocket.connect(path())) {
      half.write(Arrays.copyOf(claim(TOKEN, 1).build().encode(), 20));
    }
    try (UnixSocket withoutInbox = UnixSocket.connect(path())) {
      TextMessage claim =
          TextMessage.ofType("claim").put("protocol", 1).put("token", TOKEN).build();
      withoutInbox.write(claim.encode());
      assertThat(new ControlLink(withoutInbox).receive().orElseThrow().type()).isEqualTo("refused");
    }
    try (UnixSocket noDescriptor = UnixSocket.connect(path())) {
      noDescriptor.write(claim(TOKEN, 1).build().encode());
      noDescriptor.write(new byte[1]);
      assertThat(hasEnded(noDescriptor)).isTrue();
    }
    assertThatAClaimSucceeds();
  }

  @Test
  void connection_thatSaysNothing_isClosedAfterAWhile() throws Exception {
    try (UnixSocket silent = UnixSocket.connect(path())) {
      assertThatAClaimSucceeds();
      assertThat(hasEnded(silent)).isTrue();
    }
  }
}
