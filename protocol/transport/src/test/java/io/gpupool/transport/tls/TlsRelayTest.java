// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport.tls;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.transport.BlockingSocket;
import io.gpupool.transport.EarlyBytes;
import io.gpupool.transport.EventLoops;
import io.gpupool.transport.SocketPair;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.handler.ssl.SslHandler;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A connection that Netty has accepted, relayed to the test's end of a pair of sockets. */
@Timeout(60)
class TlsRelayTest {
  private static final int LENGTH_BYTES = 3_000_001;

  @TempDir static Path folder;
  private static TlsContext client;
  private static TlsContext server;
  private static EventLoopGroup loops;

  private final CountDownLatch ended = new CountDownLatch(1);
  private Socket plain;
  private SSLSocket socket;
  private BlockingSocket end;
  private SSLEngine engine;
  private TlsRelay relay;

  @BeforeAll
  static void issue() throws Exception {
    TestAuthority authority = new TestAuthority(folder);
    server =
        TlsContext.of(
            TestAuthority.server(authority.issue("server", "IP:127.0.0.1"), Optional.empty()));
    client = TlsContext.of(authority.client());
    loops = EventLoops.create("test", 1);
  }

  @AfterAll
  static void stop() {
    loops.shutdownGracefully(0, 1, TimeUnit.SECONDS);
  }

  /** Bytes that come before anyone relays are read with the handshake, or are still to be read. */
  @BeforeEach
  void connect() throws Exception {
    CompletableFuture<EpollSocketChannel> accepted = new CompletableFuture<>();
    var port =
        new ServerBootstrap()
            .group(loops)
            .channel(EpollServerSocketChannel.class)
            .childHandler(
                new ChannelInitializer<EpollSocketChannel>() {
                  @Override
                  protected void initChannel(EpollSocketChannel channel) {
                    SslHandler handler = TlsEngines.accepting(server);
                    channel.pipeline().addLast(handler, new EarlyBytes());
                    handler
                        .handshakeFuture()
                        .addListener(done -> {
                          channel.config().setAutoRead(false);
                          accepted.complete(channel);
                        });
                  }
                })
            .bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
            .sync()
            .channel();
    plain = new Socket();
    plain.connect(port.localAddress());
    socket =
        (SSLSocket)
            client
                .context()
                .getSocketFactory()
                .createSocket(plain, "127.0.0.1", plain.getPort(), true);
    socket.startHandshake();
    socket.getOutputStream().write("early".getBytes(StandardCharsets.UTF_8));
    TakenConnection taken = TakenConnection.of(accepted.get()).get();
    engine = taken.engine();
    SocketPair pair = SocketPair.open();
    end = new BlockingSocket(pair.second());
    relay = TlsRelay.start("test", taken, pair.first(), ended::countDown);
    port.close();
  }

  @AfterEach
  void disconnect() throws Exception {
    relay.close();
    socket.close();
    end.close();
    assertThat(ended.await(60, TimeUnit.SECONDS)).isTrue();
  }

  @Test
  void relay_bothWaysAtOnceAndKeysAreRenewed_bytesArriveAsTheyWere() throws Exception {
    byte[] there = random(1);
    byte[] back = random(2);
    CompletableFuture<byte[]> received =
        CompletableFuture.supplyAsync(() -> receive("early".length() + LENGTH_BYTES));
    CompletableFuture<Void> sent = CompletableFuture.runAsync(() -> send(back));
    CompletableFuture<byte[]> returned =
        CompletableFuture.supplyAsync(() -> read(socket, LENGTH_BYTES));
    for (int at = 0; at < LENGTH_BYTES; at += 1_000_000) {
      socket.getOutputStream().write(there, at, Math.min(1_000_000, LENGTH_BYTES - at));
      // In TLS 1.3: new keys, and the other side is to renew its own.
      socket.startHandshake();
    }
    byte[] all = received.get();
    assertThat(new String(all, 0, 5, StandardCharsets.UTF_8)).isEqualTo("early");
    assertThat(Arrays.copyOfRange(all, 5, all.length)).isEqualTo(there);
    sent.get();
    assertThat(returned.get()).isEqualTo(back);
  }

  /** The thread that decrypts finds that TLS has something to say; that which encrypts says it. */
  @Test
  void sendOwn_otherThreadHasSaidIt_goesOn() throws Exception {
    try (Arena arena = Arena.ofConfined()) {
      assertThat(new Sealing(engine, end, end, arena).sendOwn()).isTrue();
    }
  }

  @Test
  void relay_clearSideEnds_peerReadsAllThatWasSentAndThenTheEnd() throws Exception {
    byte[] last = random(3);
    CompletableFuture<Void> sent =
        CompletableFuture.runAsync(() -> {
          send(last);
          end.shutdown();
        });
    assertThat(read(socket, LENGTH_BYTES)).isEqualTo(last);
    assertThat(socket.getInputStream().read()).isEqualTo(-1);
    sent.get();
  }

  @Test
  void relay_peerEnds_clearSideReadsAllThatWasSentAndThenTheEnd() throws Exception {
    byte[] last = random(4);
    CompletableFuture<byte[]> received =
        CompletableFuture.supplyAsync(() -> receive("early".length() + LENGTH_BYTES));
    socket.getOutputStream().write(last);
    socket.close();
    assertThat(received.get()).endsWith(last);
    try (Arena arena = Arena.ofConfined()) {
      assertThat(end.receive(arena.allocate(1), 0)).isZero();
    }
  }

  @Test
  void relay_recordIsSpoiled_bothSidesEndAndNothingOfItArrives() throws Exception {
    assertThat(receive("early".length())).asString().isEqualTo("early");
    // Beneath the encryption: a record that no key has made.
    byte[] spoiled = new byte[40];
    spoiled[0] = 23;
    spoiled[1] = 3;
    spoiled[2] = 3;
    spoiled[4] = 35;
    plain.getOutputStream().write(spoiled);
    try (Arena arena = Arena.ofConfined()) {
      assertThat(end.receive(arena.allocate(1), 0)).isZero();
    }
    assertThat(ended.await(60, TimeUnit.SECONDS)).isTrue();
  }

  private static byte[] random(long seed) {
    byte[] bytes = new byte[LENGTH_BYTES];
    new Random(seed).nextBytes(bytes);
    return bytes;
  }

  private static byte[] read(SSLSocket socket, int lengthBytes) {
    try {
      return socket.getInputStream().readNBytes(lengthBytes);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private byte[] receive(int lengthBytes) {
    byte[] all = new byte[lengthBytes];
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment buffer = arena.allocate(lengthBytes);
      long filled = 0;
      while (filled < lengthBytes) {
        long count = end.receive(buffer, filled);
        assertThat(count).isPositive();
        filled += count;
      }
      MemorySegment.copy(buffer, JAVA_BYTE, 0, all, 0, lengthBytes);
    }
    return all;
  }

  private void send(byte[] bytes) {
    try (Arena arena = Arena.ofConfined()) {
      assertThat(end.send(arena.allocateFrom(JAVA_BYTE, bytes), bytes.length)).isTrue();
    }
  }
}
