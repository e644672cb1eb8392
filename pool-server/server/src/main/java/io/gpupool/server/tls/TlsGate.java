// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.tls;

import io.gpupool.transport.tls.TlsContext;
import io.gpupool.transport.tls.TlsEngines;
import io.gpupool.wire.ClientHello;
import io.gpupool.wire.ServerHello;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.ByteToMessageDecoder;
import io.netty.handler.ssl.SslHandler;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A handler of the first bytes of a connection on a port that speaks TLS. It begins TLS, lets a
 * handshake pass whose connection will be sealed, or says in clear text that TLS is required and
 * why there is no other answer. Runs on the channel's event loop.
 */
public final class TlsGate extends ByteToMessageDecoder {
  private static final int RECORD_HEADER_BYTES = 5;
  private static final Logger LOG = LoggerFactory.getLogger(TlsGate.class);

  /** The answer to a connection in clear text that is not to be sealed. */
  public static final ServerHello NO_TLS =
      ServerHello.refused(
          ServerHello.BAD_HANDSHAKE,
          "this server takes call streams over TLS only; name the pool as tls://HOST");

  private final TlsContext tls;
  private final boolean seals;

  /**
   * Waits for the first bytes.
   *
   * @param seals whether handshakes in clear text may pass
   */
  public TlsGate(TlsContext tls, boolean seals) {
    this.tls = tls;
    this.seals = seals;
  }

  @Override
  protected void decode(ChannelHandlerContext context, ByteBuf in, List<Object> out) {
    if (in.readableBytes() < RECORD_HEADER_BYTES) {
      return;
    }
    if (SslHandler.isEncrypted(in, false)) {
      context.pipeline().replace(this, "tls", TlsEngines.accepting(tls));
      return;
    }
    if (seals && ClientHello.canStartWith(in.nioBuffer())) {
      context.pipeline().remove(this);
      return;
    }
    in.skipBytes(in.readableBytes());
    LOG.info("call stream from {} refused: it speaks no TLS", context.channel().remoteAddress());
    context
        .writeAndFlush(Unpooled.wrappedBuffer(NO_TLS.encode()))
        .addListener(ChannelFutureListener.CLOSE);
  }
}
