// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport.http;

import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.handler.codec.http.DefaultHttpContent;
import java.io.IOException;
import java.io.OutputStream;
import java.util.Arrays;
import java.util.Objects;
import java.util.concurrent.TimeUnit;

/** The body of an answer. Whoever writes waits until it has gone; one thread uses it. */
final class ResponseBody extends OutputStream {
  private static final int PIECE_BYTES = 64 * 1024;

  private final Channel channel;
  private final long stallMillis;
  private long written;

  ResponseBody(Channel channel, long stallMillis) {
    this.channel = channel;
    this.stallMillis = stallMillis;
  }

  @Override
  public void write(int value) throws IOException {
    write(new byte[] {(byte) value}, 0, 1);
  }

  @Override
  public void write(byte[] bytes, int offset, int length) throws IOException {
    Objects.checkFromIndexSize(offset, length, bytes.length);
    for (int from = offset; from < offset + length; from += PIECE_BYTES) {
      int to = Math.min(offset + length, from + PIECE_BYTES);
      await(
          channel.writeAndFlush(
              new DefaultHttpContent(Unpooled.wrappedBuffer(Arrays.copyOfRange(bytes, from, to)))));
      written += to - from;
    }
  }

  long written() {
    return written;
  }

  /** Waits until something is written; a client that does not read is given up. */
  void await(ChannelFuture written) throws IOException {
    try {
      if (!written.await(stallMillis, TimeUnit.MILLISECONDS)) {
        channel.close();
        throw new IOException("the client does not read its answer");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("the port is closed", e);
    }
    if (!written.isSuccess()) {
      throw new IOException("the connection is closed", written.cause());
    }
  }
}
