// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport.http;

import io.gpupool.transport.ConnectionTable;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.socket.SocketChannel;
import io.netty.handler.codec.DecoderException;
import io.netty.handler.codec.DecoderResult;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.codec.http.TooLongHttpHeaderException;
import io.netty.handler.codec.http.TooLongHttpLineException;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.ReferenceCountUtil;
import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One connection: a request, its answer, and then the next. It may be displaced by others as long
 * as there is no complete request. Owned by its event loop.
 */
final class HttpConnection extends ChannelInboundHandlerAdapter {
  private static final Logger LOG = LoggerFactory.getLogger(HttpConnection.class);

  private final SocketChannel channel;
  private final ConnectionTable table;
  private final HttpLimits limits;
  private final Executor threads;
  private final Answerer answerer;
  private @Nullable ScheduledFuture<?> deadline;
  private @Nullable NettyExchange exchange;
  private boolean wanting;

  /** True once the rest of the request is read and dropped. */
  private boolean over;

  /** Answers a request, on a thread of its own. */
  interface Answerer {
    void answer(NettyExchange exchange) throws IOException;
  }

  HttpConnection(
      SocketChannel channel,
      ConnectionTable table,
      HttpLimits limits,
      Executor threads,
      Answerer answerer) {
    this.channel = channel;
    this.table = table;
    this.limits = limits;
    this.threads = threads;
    this.answerer = answerer;
  }

  @Override
  public void channelActive(ChannelHandlerContext context) {
    await(limits.headMillis());
    want();
  }

  /** Has the next message read. */
  private void want() {
    wanting = true;
    channel.read();
  }

  private void wantSoon() {
    channel.eventLoop().execute(this::want);
  }

  /** Reads on where only a part of a message has come. */
  @Override
  public void channelReadComplete(ChannelHandlerContext context) {
    if (wanting) {
      channel.read();
    }
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object message) {
    wanting = false;
    if (over) {
      ReferenceCountUtil.release(message);
      want();
    } else if (message instanceof HttpRequest request) {
      begin(request);
    } else if (message instanceof HttpContent content) {
      take(context, content);
    }
  }

  private void begin(HttpRequest request) {
    if (request.decoderResult().isFailure()) {
      refuse(request.decoderResult());
      return;
    }
    URI uri;
    try {
      uri = new URI(request.uri());
    } catch (URISyntaxException e) {
      refuse(HttpResponseStatus.BAD_REQUEST, "the request's target is no URI");
      return;
    }
    if (uri.getRawPath() == null) {
      refuse(HttpResponseStatus.BAD_REQUEST, "the request's target has no path");
      return;
    }
    NettyExchange begun =
        new NettyExchange(channel, request, uri, limits, this::wantSoon, this::answered);
    exchange = begun;
    await(limits.bodyMillis());
    if (HttpUtil.isTransferEncodingChunked(request) || HttpUtil.getContentLength(request, 0) > 0) {
      // A caller that may not send it is refused before it is read.
      dispatch(begun);
    } else {
      want();
    }
  }

  private void take(ChannelHandlerContext context, HttpContent content) {
    NettyExchange current = exchange;
    try {
      if (current == null || content.decoderResult().isFailure()) {
        context.close();
        return;
      }
      boolean last = content instanceof LastHttpContent;
      current.body().add(ByteBufUtil.getBytes(content.content()), last);
      if (last) {
        cancelDeadline();
        if (!table.setBusy(channel)) {
          return;
        }
        if (!current.isDispatched()) {
          dispatch(current);
        }
      }
    } finally {
      content.release();
    }
  }

  private void dispatch(NettyExchange dispatched) {
    dispatched.setDispatched();
    try {
      threads.execute(() -> {
        try {
          answerer.answer(dispatched);
          dispatched.close();
        } catch (IOException e) {
          LOG.debug("{}: {}", channel.remoteAddress(), e.getMessage());
          channel.close();
        } catch (RuntimeException | Error e) {
          LOG.error("a request from {} failed", channel.remoteAddress(), e);
          channel.close();
        }
      });
    } catch (RejectedExecutionException e) {
      channel.close();
    }
  }

  /** The answer is written. */
  private void answered(boolean keep) {
    if (!keep) {
      finish();
      return;
    }
    exchange = null;
    table.setIdle(channel);
    await(limits.idleMillis());
    want();
  }

  /** Closes once the client has read the answer: what it still sends must not break that off. */
  private void finish() {
    over = true;
    table.setIdle(channel);
    await(limits.headMillis());
    SslHandler encrypting = channel.pipeline().get(SslHandler.class);
    if (encrypting == null) {
      endOutput();
    } else {
      encrypting.closeOutbound().addListener(said -> endOutput());
    }
  }

  private void endOutput() {
    channel.shutdownOutput().addListener(done -> want());
  }

  private void refuse(DecoderResult result) {
    HttpResponseStatus status =
        switch (result.cause()) {
          case TooLongHttpLineException e -> HttpResponseStatus.REQUEST_URI_TOO_LONG;
          case TooLongHttpHeaderException e -> HttpResponseStatus.REQUEST_HEADER_FIELDS_TOO_LARGE;
          default -> HttpResponseStatus.BAD_REQUEST;
        };
    refuse(status, "this is not HTTP/1.1 as it should be: " + status.reasonPhrase());
  }

  private void refuse(HttpResponseStatus status, String reason) {
    byte[] text = (reason + "\n").getBytes(StandardCharsets.UTF_8);
    FullHttpResponse response =
        new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, status, Unpooled.wrappedBuffer(text));
    response
        .headers()
        .set(HttpHeaderNames.CONTENT_TYPE, "text/plain; charset=utf-8")
        .set(HttpHeaderNames.CONTENT_LENGTH, text.length)
        .set(HttpHeaderNames.CONNECTION, HttpHeaderValues.CLOSE);
    over = true;
    channel.writeAndFlush(response).addListener(written -> finish());
  }

  @Override
  public void channelInactive(ChannelHandlerContext context) {
    cancelDeadline();
    if (exchange != null) {
      exchange.body().fail();
    }
    context.fireChannelInactive();
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
    Throwable inner =
        cause instanceof DecoderException && cause.getCause() != null ? cause.getCause() : cause;
    LOG.debug("{}: {}", channel.remoteAddress(), inner.toString());
    context.close();
  }

  private void cancelDeadline() {
    if (deadline != null) {
      deadline.cancel(false);
    }
  }

  private void await(long millis) {
    cancelDeadline();
    deadline = channel.eventLoop().schedule(() -> channel.close(), millis, TimeUnit.MILLISECONDS);
  }
}
