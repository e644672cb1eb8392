// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A listening socket that cannot accept, mostly for want of file descriptors: it rests for a second
 * and says so once a minute. Runs on the socket's event loop; several sockets may share one.
 */
@Sharable
public final class AcceptFailures extends ChannelInboundHandlerAdapter {
  private static final long REST_MILLIS = 1000;
  private static final long SILENT_NANOS = TimeUnit.MINUTES.toNanos(1);
  private static final Logger LOG = LoggerFactory.getLogger(AcceptFailures.class);

  private final String port;

  @GuardedBy("this")
  private boolean logged;

  @GuardedBy("this")
  private long loggedAtNanos;

  /**
   * Serves one kind of port.
   *
   * @param port how the log names it
   */
  public AcceptFailures(String port) {
    this.port = port;
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
    if (isTimeToLog()) {
      LOG.error(
          "the {} cannot accept connections ({}); it tries again every second. See to the limit of"
              + " open files (ulimit -n) and to who connects",
          port,
          cause.getMessage());
    }
    context.channel().config().setAutoRead(false);
    context
        .executor()
        .schedule(
            () -> context.channel().config().setAutoRead(true), REST_MILLIS, TimeUnit.MILLISECONDS);
  }

  private synchronized boolean isTimeToLog() {
    long now = System.nanoTime();
    if (logged && now - loggedAtNanos < SILENT_NANOS) {
      return false;
    }
    logged = true;
    loggedAtNanos = now;
    return true;
  }
}
