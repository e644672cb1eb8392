// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport.tls;

import io.gpupool.transport.Detaching;
import io.gpupool.transport.EarlyBytes;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.unix.FileDescriptor;
import io.netty.channel.unix.UnixChannel;
import io.netty.handler.ssl.SslHandler;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import javax.net.ssl.SSLEngine;

/**
 * A connection over TLS that was taken out of Netty after its handshake.
 *
 * @param engine that goes on where Netty has stopped
 * @param descriptor blocking; whoever has this must close it
 * @param clear bytes that were decrypted and that nobody has taken
 * @param encrypted bytes that were received and not decrypted
 */
public record TakenConnection(
    SSLEngine engine, FileDescriptor descriptor, byte[] clear, byte[] encrypted) {
  /**
   * Takes a connection whose bytes nobody waits for any more, without the peer noticing. Nothing
   * may be left to flush.
   *
   * @return completed on the channel's event loop
   */
  public static CompletableFuture<TakenConnection> of(UnixChannel channel) {
    CompletableFuture<TakenConnection> taken = new CompletableFuture<>();
    // Not from within a handler that is being removed.
    channel
        .eventLoop()
        .execute(() -> {
          try {
            if (!channel.isActive()) {
              throw new IOException("the connection has ended");
            }
            taken.complete(take(channel));
          } catch (IOException | RuntimeException e) {
            channel.close();
            taken.completeExceptionally(e);
          }
        });
    return taken;
  }

  /** Closes the connection, for who does not relay it after all. */
  public void close() {
    Detaching.closeQuietly(descriptor);
  }

  /** Takes the connection in one step, so that the event loop reads nothing in between. */
  private static TakenConnection take(UnixChannel channel) throws IOException {
    Rest rest = new Rest();
    channel.pipeline().addLast(rest);
    EarlyBytes early = channel.pipeline().get(EarlyBytes.class);
    if (early != null) {
      channel.pipeline().remove(early);
    }
    byte[] clear = rest.take();
    SslHandler handler = channel.pipeline().remove(SslHandler.class);
    byte[] encrypted = rest.take();
    return new TakenConnection(handler.engine(), Detaching.detachNow(channel), clear, encrypted);
  }

  /** Keeps what handlers pass on as they go. */
  private static final class Rest extends ChannelInboundHandlerAdapter {
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

    @Override
    public void channelRead(ChannelHandlerContext context, Object value) throws IOException {
      ByteBuf buffer = (ByteBuf) value;
      buffer.readBytes(bytes, buffer.readableBytes());
      buffer.release();
    }

    byte[] take() {
      byte[] taken = bytes.toByteArray();
      bytes.reset();
      return taken;
    }
  }
}
