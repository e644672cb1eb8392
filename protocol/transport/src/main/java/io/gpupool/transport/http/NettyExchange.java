// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport.http;

import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpContext;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpPrincipal;
import io.netty.channel.Channel;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.DefaultHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.URI;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** One request and its answer. Made on the event loop, then used by the thread that answers. */
final class NettyExchange extends HttpExchange {
  private final Channel channel;
  private final HttpRequest request;
  private final URI uri;
  private final Headers requestHeaders = new Headers();
  private final Headers responseHeaders = new Headers();
  private final RequestBody requestBody;
  private final ResponseBody responseBody;
  private final Runnable wantMore;
  private final Consumer<Boolean> onAnswered;
  private final Map<String, Object> attributes = new HashMap<>();
  private boolean dispatched;
  private int status = -1;
  private boolean keep;
  private long promised;
  private boolean closed;

  /**
   * A request whose headers have come.
   *
   * @param wantMore has the next piece of the body read
   * @param onAnswered runs on the event loop when the answer is written; true: the connection stays
   */
  NettyExchange(
      Channel channel,
      HttpRequest request,
      URI uri,
      HttpLimits limits,
      Runnable wantMore,
      Consumer<Boolean> onAnswered) {
    this.channel = channel;
    this.request = request;
    this.uri = uri;
    this.wantMore = wantMore;
    this.onAnswered = onAnswered;
    requestBody = new RequestBody(this::readMore);
    responseBody = new ResponseBody(channel, limits.stallMillis());
    request.headers().forEach(header -> requestHeaders.add(header.getKey(), header.getValue()));
  }

  /** The client may be waiting to be told that its body is wanted. */
  private void readMore() {
    if (HttpUtil.is100ContinueExpected(request)) {
      HttpUtil.set100ContinueExpected(request, false);
      channel.writeAndFlush(
          new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.CONTINUE));
    }
    wantMore.run();
  }

  RequestBody body() {
    return requestBody;
  }

  /** Returns whether a thread answers it; on the event loop. */
  boolean isDispatched() {
    return dispatched;
  }

  void setDispatched() {
    dispatched = true;
  }

  @Override
  public void sendResponseHeaders(int code, long length) throws IOException {
    if (status >= 0) {
      throw new IOException("the headers are sent already");
    }
    status = code;
    HttpResponse response =
        new DefaultHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.valueOf(code));
    responseHeaders.forEach((name, values) -> response.headers().set(name, values));
    response
        .headers()
        .set(
            HttpHeaderNames.DATE,
            DateTimeFormatter.RFC_1123_DATE_TIME.format(ZonedDateTime.now(ZoneOffset.UTC)));
    boolean streams = length == 0 && !isHead();
    keep =
        HttpUtil.isKeepAlive(request)
            && requestBody.isComplete()
            && !(streams && request.protocolVersion().equals(HttpVersion.HTTP_1_0));
    HttpUtil.setKeepAlive(response.headers(), request.protocolVersion(), keep);
    promised = Math.max(0, length);
    if (length > 0) {
      HttpUtil.setContentLength(response, length);
    } else if (streams && request.protocolVersion().equals(HttpVersion.HTTP_1_1)) {
      HttpUtil.setTransferEncodingChunked(response, true);
    } else if (length < 0 && !isHead() && code != 304 && code != 204) {
      HttpUtil.setContentLength(response, 0);
    }
    responseBody.await(channel.writeAndFlush(response));
  }

  private boolean isHead() {
    return request.method().equals(HttpMethod.HEAD);
  }

  /** Ends the answer; one that is not whole breaks the connection off. */
  @Override
  public void close() {
    if (closed) {
      return;
    }
    closed = true;
    if (!channel.isActive()) {
      return;
    }
    if (status < 0 || promised > 0 && responseBody.written() != promised) {
      channel.close();
      return;
    }
    boolean stays = keep;
    channel
        .writeAndFlush(LastHttpContent.EMPTY_LAST_CONTENT)
        .addListener(written -> {
          if (written.isSuccess()) {
            onAnswered.accept(stays);
          } else {
            channel.close();
          }
        });
  }

  @Override
  public Headers getRequestHeaders() {
    return requestHeaders;
  }

  @Override
  public Headers getResponseHeaders() {
    return responseHeaders;
  }

  @Override
  public URI getRequestURI() {
    return uri;
  }

  @Override
  public String getRequestMethod() {
    return request.method().name();
  }

  @Override
  public HttpContext getHttpContext() {
    throw new UnsupportedOperationException("there is one context");
  }

  @Override
  public InputStream getRequestBody() {
    return requestBody;
  }

  @Override
  public OutputStream getResponseBody() {
    return responseBody;
  }

  @Override
  public InetSocketAddress getRemoteAddress() {
    return (InetSocketAddress) channel.remoteAddress();
  }

  @Override
  public int getResponseCode() {
    return status;
  }

  @Override
  public InetSocketAddress getLocalAddress() {
    return (InetSocketAddress) channel.localAddress();
  }

  @Override
  public String getProtocol() {
    return request.protocolVersion().text();
  }

  @Override
  public @Nullable Object getAttribute(String name) {
    return attributes.get(name);
  }

  @Override
  public void setAttribute(String name, Object value) {
    attributes.put(name, value);
  }

  @Override
  public void setStreams(InputStream in, OutputStream out) {
    throw new UnsupportedOperationException("its streams stay as they are");
  }

  @Override
  public @Nullable HttpPrincipal getPrincipal() {
    return null;
  }
}
