// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.deviceplugin;

import io.grpc.BindableService;
import io.grpc.Server;
import io.grpc.netty.NettyServerBuilder;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.epoll.EpollServerDomainSocketChannel;
import io.netty.channel.unix.DomainSocketAddress;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;

/** A socket on which the kubelet finds a plugin. Owned by the plugin's thread. */
public final class PluginSocket implements AutoCloseable {
  private final Path path;
  private final Server server;
  private final FileIdentity identity;

  private PluginSocket(Path path, Server server, FileIdentity identity) {
    this.path = path;
    this.server = server;
    this.identity = identity;
  }

  /**
   * Serves at the path, and replaces any other socket there.
   *
   * @throws IOException if no socket can be made there
   */
  public static PluginSocket serve(Path path, EventLoopGroup loops, BindableService... services)
      throws IOException {
    // It is made under a temporary name and then moved, so nobody finds a socket before it is
    // served. Closing removes the bound name, and so never the socket of a successor.
    Path made =
        path.resolveSibling("." + path.getFileName() + "." + Integer.toHexString(randomNumber()));
    NettyServerBuilder builder =
        NettyServerBuilder.forAddress(new DomainSocketAddress(made.toString()))
            .channelType(EpollServerDomainSocketChannel.class)
            .bossEventLoopGroup(loops)
            .workerEventLoopGroup(loops)
            .directExecutor();
    List.of(services).forEach(builder::addService);
    Server server = builder.build().start();
    try {
      Files.setPosixFilePermissions(made, PosixFilePermissions.fromString("rw-------"));
      FileIdentity identity =
          FileIdentity.of(made).orElseThrow(() -> new IOException(made + " was removed"));
      Files.move(made, path, StandardCopyOption.ATOMIC_MOVE);
      return new PluginSocket(path, server, identity);
    } catch (IOException e) {
      server.shutdownNow();
      throw e;
    }
  }

  private static int randomNumber() {
    return ThreadLocalRandom.current().nextInt();
  }

  /** Returns whether somebody listens at the path. */
  static boolean isServed(Path path) {
    if (!Files.exists(path)) {
      return false;
    }
    try {
      SocketChannel.open(UnixDomainSocketAddress.of(path)).close();
      return true;
    } catch (IOException e) {
      return false;
    }
  }

  /** Returns whether the kubelet would find this socket. */
  public boolean isInPlace() {
    return FileIdentity.of(path).filter(identity::equals).isPresent();
  }

  /** Ends all calls and removes the socket, unless another has replaced it. */
  @Override
  public void close() {
    if (isInPlace()) {
      try {
        Files.deleteIfExists(path);
      } catch (IOException e) {
        // Nobody will listen there; the next plugin replaces it.
      }
    }
    server.shutdownNow();
  }
}
