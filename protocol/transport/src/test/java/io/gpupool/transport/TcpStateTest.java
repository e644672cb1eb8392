// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.unix.FileDescriptor;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;

class TcpStateTest {
  private static final EventLoopGroup LOOPS = EventLoops.create("tcp-state-test", 1);

  @AfterAll
  static void stop() {
    LOOPS.shutdownGracefully(0, 1, TimeUnit.SECONDS);
  }

  @Test
  void connection_whoseOtherEndTakesNothing_hasNoWindowAndWaitsOnlyForProbes() throws Exception {
    try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      EpollSocketChannel channel = connect(server.getLocalPort());
      try (Socket deaf = server.accept()) {
        int descriptor = channel.fd().intValue();
        assertThat(TcpState.of(descriptor).sendWindow()).isPositive();
        int before = TcpState.of(descriptor).received();
        channel.writeAndFlush(Unpooled.wrappedBuffer(new byte[64 << 20]));
        while (TcpState.of(descriptor).sendWindow() > 0) {
          TimeUnit.MILLISECONDS.sleep(10);
        }
        assertThat(TcpState.of(descriptor).received()).isGreaterThan(before);
        assertThat(deaf.isConnected()).isTrue();
      } finally {
        channel.close().sync();
      }
    }
  }

  @Test
  void keepAlive_enabled_isOnAndGivesUpInTime() throws Exception {
    try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      EpollSocketChannel channel = connect(server.getLocalPort());
      StreamKeepAlive.enable(channel);
      assertThat(channel.config().isKeepAlive()).isTrue();
      assertThat(secondsToGiveUp(channel)).isEqualTo(StreamKeepAlive.LIMIT_SECONDS);
      StreamKeepAlive.enableResumable(channel);
      assertThat(secondsToGiveUp(channel)).isEqualTo(StreamKeepAlive.RESUMABLE_LIMIT_SECONDS);
      assertThat(channel.config().getTcpUserTimeout())
          .as("which would end streams whose other end takes no bytes")
          .isZero();
      channel.close().sync();
      StreamKeepAlive.enable(channel);
    }
  }

  @Test
  void descriptor_ofNoTcpConnection_isRefused() throws Exception {
    SocketPair pair = SocketPair.open();
    try {
      assertThatThrownBy(() -> TcpState.of(pair.first().intValue()))
          .isInstanceOf(IOException.class);
    } finally {
      for (FileDescriptor end : new FileDescriptor[] {pair.first(), pair.second()}) {
        Detaching.closeQuietly(end);
      }
    }
  }

  private static int secondsToGiveUp(EpollSocketChannel channel) {
    return channel.config().getTcpKeepIdle()
        + channel.config().getTcpKeepIntvl() * channel.config().getTcpKeepCnt();
  }

  private static EpollSocketChannel connect(int port) throws InterruptedException {
    return (EpollSocketChannel)
        new Bootstrap()
            .group(LOOPS)
            .channel(EpollSocketChannel.class)
            .handler(new ChannelInboundHandlerAdapter())
            .connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port))
            .sync()
            .channel();
  }
}
