// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import io.gpupool.server.capacity.Members;
import io.gpupool.server.records.ServerEndpoint;
import io.gpupool.server.records.ServerEntry;
import io.gpupool.server.tls.TlsHandOver;
import io.gpupool.transport.Detaching;
import io.gpupool.transport.StreamKeepAlive;
import io.gpupool.transport.dial.CallStreamDialer;
import io.gpupool.transport.tls.TlsContext;
import io.gpupool.wire.ClientHello;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.unix.FileDescriptor;
import io.netty.channel.unix.UnixChannel;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * A dialer of the call-stream ports of the pool's other servers. Their addresses come from the
 * pool, never from a program or worker. Called by the control thread.
 */
public final class PeerDialer implements ServerDialer {
  private final Members members;
  private final EventLoopGroup loops;
  private final @Nullable TlsContext tls;

  /**
   * Connects nothing yet.
   *
   * @param tls with which connections begin; null: in clear text
   */
  public PeerDialer(Members members, EventLoopGroup loops, @Nullable TlsContext tls) {
    this.members = members;
    this.loops = loops;
    this.tls = tls;
  }

  @Override
  public CompletableFuture<FileDescriptor> dial(
      String server, ClientHello hello, boolean resumable) {
    ServerEntry entry = members.others().get(server);
    if (entry == null) {
      return CompletableFuture.failedFuture(
          new IOException("server " + server + " is not in the pool now"));
    }
    ServerEndpoint endpoint = entry.endpoint();
    if (endpoint.tls() != (tls != null)) {
      return CompletableFuture.failedFuture(
          new IllegalStateException(
              "server "
                  + server
                  + (endpoint.tls()
                      ? " speaks TLS and this one does not"
                      : " speaks no TLS and this one does")
                  + "; start both with --tls-cert"));
    }
    String host = endpoint.host();
    return address(host, endpoint.callStreamPort())
        .thenCompose(address ->
            CallStreamDialer.dial(
                new CallStreamDialer.Target(address, host, tls), hello, loops.next()))
        .thenCompose(channel -> taken(channel, resumable));
  }

  private CompletableFuture<FileDescriptor> taken(UnixChannel channel, boolean resumable) {
    if (resumable) {
      StreamKeepAlive.enableResumable(channel);
    }
    return tls != null ? TlsHandOver.begin(channel, resumable) : Detaching.detach(channel);
  }

  private static CompletableFuture<InetSocketAddress> address(String host, int port) {
    return CompletableFuture.supplyAsync(
        () -> {
          try {
            return new InetSocketAddress(InetAddress.getByName(host), port);
          } catch (UnknownHostException e) {
            throw new UncheckedIOException(
                new IOException("host '" + host + "' has no address here", e));
          }
        },
        Thread::startVirtualThread);
  }
}
