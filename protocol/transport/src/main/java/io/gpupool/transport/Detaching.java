// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport;

import io.netty.channel.epoll.EpollDomainSocketChannel;
import io.netty.channel.unix.FileDescriptor;
import io.netty.channel.unix.UnixChannel;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;

/** The removal of a connection from Netty, unnoticed by the peer. */
public final class Detaching {
  private Detaching() {}

  /**
   * Closes the channel but not its connection. Nothing may be left to flush, and bytes that the
   * channel has read already are the caller's.
   *
   * @return the connection's descriptor, blocking; the caller must close it. Completed on the
   *     channel's event loop.
   */
  public static CompletableFuture<FileDescriptor> detach(UnixChannel channel) {
    CompletableFuture<FileDescriptor> detached = new CompletableFuture<>();
    channel
        .eventLoop()
        .execute(() -> {
          try {
            detached.complete(detachNow(channel));
          } catch (IOException e) {
            detached.completeExceptionally(e);
          }
        });
    return detached;
  }

  /** Detaches at once, for handlers: on the channel's event loop. */
  public static FileDescriptor detachNow(UnixChannel channel) throws IOException {
    try {
      // Closing a descriptor sends FIN only with the last one of a connection, and Netty does no
      // shutdown() of its own.
      return duplicate(channel);
    } finally {
      channel.close();
    }
  }

  /**
   * Takes what goes over a channel out of Netty's hands. The channel stays open until it is closed,
   * which nothing but its close future tells any more. On its event loop, nothing being left to
   * flush.
   *
   * @return a second descriptor of the same connection, blocking; the caller must close it
   */
  public static CompletableFuture<FileDescriptor> lend(EpollDomainSocketChannel channel) {
    CompletableFuture<FileDescriptor> lent = new CompletableFuture<>();
    channel
        .deregister()
        .addListener(deregistered -> {
          try {
            if (!channel.isActive()) {
              throw new IOException("the connection has ended");
            }
            lent.complete(duplicate(channel));
          } catch (IOException e) {
            channel.close();
            lent.completeExceptionally(e);
          }
        });
    return lent;
  }

  private static FileDescriptor duplicate(UnixChannel channel) throws IOException {
    FileDescriptor copy = new FileDescriptor(Descriptors.duplicate(channel.fd().intValue()));
    try {
      Descriptors.setBlocking(copy.intValue(), true);
      return copy;
    } catch (IOException e) {
      closeQuietly(copy);
      throw e;
    }
  }

  /** Closes a descriptor where nothing can be done about a failure. */
  public static void closeQuietly(FileDescriptor descriptor) {
    try {
      descriptor.close();
    } catch (IOException e) {
      // Linux frees the descriptor even then.
    }
  }
}
