// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.kubelet;

import io.gpupool.transport.UnixAddress;
import io.grpc.ManagedChannel;
import io.grpc.netty.NettyChannelBuilder;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.epoll.EpollDomainSocketChannel;
import java.nio.file.Path;

/** A unix socket on which the kubelet serves gRPC. */
public record KubeletSocket(Path path) {
  /** Throws {@link IllegalArgumentException} for a path that no socket can have. */
  public KubeletSocket {
    new UnixAddress(path.toString());
  }

  /** Returns a channel that connects with the first call, and again after a connection was lost. */
  public ManagedChannel channel(EventLoopGroup loops) {
    return NettyChannelBuilder.forAddress(new UnixAddress(path.toString()).socketAddress())
        .channelType(EpollDomainSocketChannel.class)
        .eventLoopGroup(loops)
        // Not every server accepts a path as authority.
        .overrideAuthority("localhost")
        .usePlaintext()
        .build();
  }

  @Override
  public String toString() {
    return path.toString();
  }
}
