// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport;

import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.unix.FileDescriptor;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;

/** Takes a TCP connection out of Netty without the peer noticing. */
public final class Detaching {
  private Detaching() {}

  /**
   * Closes the channel but not its connection. Nothing may be left to flush, and bytes that the
   * channel has read already are the caller's.
   *
   * @return the connection's descriptor, blocking; the caller must close it. Completed on the
   *     channel's event loop.
   */
  public static CompletableFuture<FileDescriptor> detach(EpollSocketChannel channel) {
    CompletableFuture<FileDescriptor> detached = new CompletableFuture<>();
    channel
        .eventLoop()
        .execute(() -> {
          try {
            // Closing a descriptor sends FIN only with the last one of a connection, and Netty
            // does no shutdown() of its own.
            FileDescriptor copy =
                new FileDescriptor(Descriptors.duplicate(channel.fd().intValue()));
            channel.close().addListener(closed -> complete(detached, copy));
          } catch (IOException e) {
            channel.close();
            detached.completeExceptionally(e);
          }
        });
    return detached;
  }

  private static void complete(CompletableFuture<FileDescriptor> detached, FileDescriptor copy) {
    try {
      Descriptors.setBlocking(copy.intValue(), true);
      detached.complete(copy);
    } catch (IOException e) {
      closeQuietly(copy);
      detached.completeExceptionally(e);
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
