// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.stream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.gpupool.runtime.NetworkNamespace;
import io.gpupool.server.options.LocalSocketOptions;
import io.gpupool.transport.EventLoops;
import io.gpupool.wire.ClientHello;
import io.gpupool.wire.ServerHello;
import io.gpupool.wire.SessionId;
import io.gpupool.wire.SessionKey;
import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The socket of the call streams of this machine. */
class LocalSocketTest {
  private static final EventLoopGroup LOOPS = EventLoops.create("local-socket-test", 1);
  private static final Duration LIMIT = Duration.ofSeconds(20);

  @TempDir Path folder;
  private final List<CallStream> joined = new CopyOnWriteArrayList<>();
  private final List<LocalSocket> opened = new ArrayList<>();

  @AfterEach
  void close() {
    opened.forEach(LocalSocket::close);
  }

  @AfterAll
  static void stopLoops() {
    LOOPS.shutdownGracefully(0, 1, TimeUnit.SECONDS);
  }

  @Test
  void socket_inAFolder_takesHandshakesOfEverybody() throws Exception {
    Path file = file(open());
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
        .isEqualTo("rw-rw-rw-");
    try (SocketChannel program = SocketChannel.open(UnixDomainSocketAddress.of(file))) {
      program.write(ByteBuffer.wrap(hello()));
      await().atMost(LIMIT).until(() -> joined.size() == 1);
      CallStream stream = joined.getFirst();
      assertThat(stream.isLocal()).isTrue();
      assertThat(stream.needsSeal()).isFalse();
      stream.refuse(ServerHello.refused(ServerHello.BAD_SESSION, "no such session"));
      assertThat(rest(program)).contains("no such session");
    }
  }

  @Test
  void socket_otherBytes_refusesThem() throws Exception {
    try (SocketChannel stranger = SocketChannel.open(UnixDomainSocketAddress.of(file(open())))) {
      stranger.write(ByteBuffer.wrap("GET / HTTP/1.1\r\n\r\n".getBytes(StandardCharsets.US_ASCII)));
      assertThat(rest(stranger)).contains("bad magic");
    }
    assertThat(joined).isEmpty();
  }

  @Test
  void handshakes_unfinishedAndOneTooMany_endTheOldest() throws Exception {
    Path file = file(open());
    List<SocketChannel> silent = new ArrayList<>();
    try {
      for (int i = 0; i <= UnfinishedHandshakes.MOST; i++) {
        silent.add(SocketChannel.open(UnixDomainSocketAddress.of(file)));
      }
      assertThat(silent.getFirst().read(ByteBuffer.allocate(1))).isEqualTo(-1);
      silent.getLast().write(ByteBuffer.wrap(hello()));
      await().atMost(LIMIT).until(() -> joined.size() == 1);
    } finally {
      for (SocketChannel channel : silent) {
        channel.close();
      }
    }
  }

  @Test
  void open_filesOfKilledServers_removesTheirsAlone() throws Exception {
    Path stale = folder.resolve("gpupool-stream-0123456789abcdef.sock");
    Path other = folder.resolve("agent.sock");
    for (Path dead : List.of(stale, other)) {
      ServerSocketChannel.open(StandardProtocolFamily.UNIX)
          .bind(UnixDomainSocketAddress.of(dead))
          .close();
    }
    Path living = file(open());
    LocalSocket second = open();
    assertThat(files()).containsExactlyInAnyOrder(other, living, folder.resolve(second.toString()));
    second.close();
    await().atMost(LIMIT).until(() -> files().size() == 2);
    assertThat(files()).containsExactlyInAnyOrder(other, living);
  }

  @Test
  void open_folderThatCannotHaveIt_saysSo() {
    assertThatThrownBy(() -> open(folder.resolve("missing").toString()))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("cannot make a socket in " + folder.resolve("missing"))
        .hasMessageContaining("--local-socket none");
    assertThatThrownBy(() -> open(folder.resolve("x".repeat(120)).toString()))
        .isInstanceOf(IOException.class);
  }

  @Test
  void options_texts_areReadOrRefused() throws Exception {
    assertThat(LocalSocketOptions.parse("auto")).isEqualTo(LocalSocketOptions.AUTO);
    assertThat(LocalSocketOptions.parse("/run/x").requireFolder()).isEqualTo(Path.of("/run/x"));
    assertThat(LocalSocket.open(LocalSocketOptions.parse("none"), LOOPS, (hello, stream) -> {}))
        .isEmpty();
    assertThatThrownBy(() -> LocalSocketOptions.parse("run"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("a folder's whole path");
  }

  /** Whoever has the same name in another namespace is not this server. */
  @Test
  void name_abstract_isToldInItsOwnNamespaceAlone() throws Exception {
    LocalSocket socket = open("auto");
    assertThat(socket.nameFor(NetworkNamespace.TEXT))
        .hasValueSatisfying(name -> assertThat(name.isAbstract()).isTrue());
    assertThat(socket.nameFor("")).isEmpty();
    assertThat(socket.nameFor(NetworkNamespace.TEXT + "0")).isEmpty();
    assertThat(open().nameFor("")).as("of a file").isPresent();
  }

  private LocalSocket open() throws IOException {
    return open(folder.toString());
  }

  private LocalSocket open(String option) throws IOException {
    LocalSocket socket =
        LocalSocket.open(
                LocalSocketOptions.parse(option), LOOPS, (hello, stream) -> joined.add(stream))
            .orElseThrow();
    opened.add(socket);
    return socket;
  }

  private Path file(LocalSocket socket) {
    return folder.resolve(socket.toString());
  }

  private List<Path> files() throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.toList();
    }
  }

  private static byte[] hello() {
    SecureRandom random = new SecureRandom();
    return new ClientHello(1, 1, SessionId.random(random), SessionKey.random(random)).encode();
  }

  /** Reads to the end. */
  private static String rest(SocketChannel channel) throws IOException {
    ByteBuffer bytes = ByteBuffer.allocate(2048);
    while (channel.read(bytes) >= 0) {
      // until the other side hangs up
    }
    return new String(bytes.array(), 0, bytes.position(), StandardCharsets.UTF_8);
  }
}
