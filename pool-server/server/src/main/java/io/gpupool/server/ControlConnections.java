// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import io.gpupool.transport.AcceptFailures;
import io.gpupool.transport.ConnectionTable;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ServerChannel;
import io.netty.channel.epoll.EpollServerSocketChannel;
import java.net.SocketAddress;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The connections of the control port. When there are too many, one on which nobody has shown a
 * valid token makes room. For any thread.
 */
@Sharable
final class ControlConnections extends ChannelInboundHandlerAdapter {
  private static final int LIMIT = 4096;

  private final ConnectionTable table = new ConnectionTable(LIMIT);
  private final Map<SocketAddress, Channel> byAddress = new ConcurrentHashMap<>();

  /** A listening socket whose connections are counted. */
  ServerChannel listening() {
    EpollServerSocketChannel server = new EpollServerSocketChannel();
    server.pipeline().addLast(new AcceptFailures("control port"), this);
    return server;
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object accepted) {
    Channel connection = (Channel) accepted;
    // It has an event loop only then.
    context.fireChannelRead(connection);
    SocketAddress remote = connection.remoteAddress();
    byAddress.put(remote, connection);
    connection.closeFuture().addListener(closed -> byAddress.remove(remote, connection));
    table.add(connection);
  }

  /** Somebody has shown a valid token on the connection from there. */
  void proven(SocketAddress remote) {
    Channel connection = byAddress.get(remote);
    if (connection != null) {
      boolean ignored = table.setBusy(connection);
    }
  }
}
