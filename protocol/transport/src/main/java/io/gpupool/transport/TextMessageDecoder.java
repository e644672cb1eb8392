// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport;

import io.gpupool.wire.TextMessage;
import io.gpupool.wire.WireException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.ByteToMessageDecoder;
import java.util.List;

/** A decoder of {@link TextMessage}s; malformed ones raise a {@link WireException}. */
public final class TextMessageDecoder extends ByteToMessageDecoder {

  @Override
  protected void decode(ChannelHandlerContext context, ByteBuf in, List<Object> out)
      throws WireException {
    if (in.readableBytes() < TextMessage.HEADER_BYTES) {
      return;
    }
    int at = in.readerIndex();
    int textBytes =
        TextMessage.checkHeader(in.getIntLE(at), in.getIntLE(at + TextMessage.TEXT_BYTES_OFFSET));
    if (in.readableBytes() < TextMessage.HEADER_BYTES + textBytes) {
      return;
    }
    byte[] text = new byte[textBytes];
    in.skipBytes(TextMessage.HEADER_BYTES);
    in.readBytes(text);
    out.add(TextMessage.parse(text));
  }

  /** The message as Netty sends it. */
  public static ByteBuf encode(TextMessage message) {
    return Unpooled.wrappedBuffer(message.encode());
  }
}
