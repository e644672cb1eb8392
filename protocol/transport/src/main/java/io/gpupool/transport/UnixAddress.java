// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.epoll.EpollDomainSocketChannel;
import io.netty.channel.epoll.EpollServerDomainSocketChannel;
import io.netty.channel.unix.DomainSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * The address of a unix socket: a path, or {@code @NAME} in the abstract namespace, where it leaves
 * nothing on disk.
 */
public record UnixAddress(String text) {
  private static final int MAX_BYTES = 107;

  public UnixAddress {
    int length = text.getBytes(StandardCharsets.UTF_8).length;
    if (length == 0 || text.equals("@") || length > MAX_BYTES || text.indexOf('\0') >= 0) {
      throw new IllegalArgumentException(
          "'" + text + "' is no unix socket: give a path or @NAME of at most 107 bytes");
    }
  }

  /** Returns the address of a file; empty: its path is too long for a socket. */
  public static Optional<UnixAddress> of(Path file) {
    return file.toString().getBytes(StandardCharsets.UTF_8).length > MAX_BYTES
        ? Optional.empty()
        : Optional.of(new UnixAddress(file.toString()));
  }

  public boolean isAbstract() {
    return text.charAt(0) == '@';
  }

  public DomainSocketAddress socketAddress() {
    return new DomainSocketAddress(isAbstract() ? '\0' + text.substring(1) : text);
  }

  /**
   * Listens there.
   *
   * @param accepted is given each connection, on its event loop, to fill its pipeline
   */
  public Channel listen(EventLoopGroup loops, Consumer<EpollDomainSocketChannel> accepted) {
    return new ServerBootstrap()
        .group(loops)
        .channel(EpollServerDomainSocketChannel.class)
        .childHandler(
            new ChannelInitializer<EpollDomainSocketChannel>() {
              @Override
              protected void initChannel(EpollDomainSocketChannel channel) {
                accepted.accept(channel);
              }
            })
        .bind(socketAddress())
        .syncUninterruptibly()
        .channel();
  }

  @Override
  public String toString() {
    return text;
  }
}
