// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport;

import io.netty.channel.Channel;
import io.netty.channel.ChannelException;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.unix.IntegerUnixChannelOption;

/**
 * The TCP options by which both ends of a call stream notice that the other one is gone, even if
 * nobody sends anything. They stay with the connection when its descriptor is handed over.
 *
 * <p>TCP_USER_TIMEOUT is not among them: it also ends a connection whose other end is there and
 * takes no bytes for so long, as a worker does behind a long kernel and a program that is stopped.
 */
public final class StreamKeepAlive {
  /** The time after the last sign of life at which the other end counts as gone. */
  public static final int LIMIT_SECONDS = 15;

  /** The same time for a stream that can be resumed, for which a false alarm costs little. */
  public static final int RESUMABLE_LIMIT_SECONDS = 5;

  private static final int RESUMABLE_IDLE_SECONDS = 2;
  private static final int RESUMABLE_INTERVAL_SECONDS = 1;
  private static final int RESUMABLE_PROBES =
      (RESUMABLE_LIMIT_SECONDS - RESUMABLE_IDLE_SECONDS) / RESUMABLE_INTERVAL_SECONDS;

  private static final int IDLE_SECONDS = 5;
  private static final int INTERVAL_SECONDS = 2;
  private static final int PROBES = (LIMIT_SECONDS - IDLE_SECONDS) / INTERVAL_SECONDS;
  private static final int IPPROTO_TCP = 6;

  /** The longest pause between two attempts to send the same bytes; Linux 6.15 and later. */
  private static final IntegerUnixChannelOption TCP_RTO_MAX_MS =
      new IntegerUnixChannelOption("TCP_RTO_MAX_MS", IPPROTO_TCP, 44);

  private static final int RETRY_MILLIS = 2000;

  private StreamKeepAlive() {}

  /** Returns the limit of a stream that can be resumed, or of one that ends with its connection. */
  public static int limitSeconds(boolean resumable) {
    return resumable ? RESUMABLE_LIMIT_SECONDS : LIMIT_SECONDS;
  }

  /**
   * Sets the options of a channel that is registered, connected or not; only those over TCP have
   * them.
   */
  public static void enable(Channel channel) {
    enable(channel, IDLE_SECONDS, INTERVAL_SECONDS, PROBES);
  }

  /** Sets the options of a channel whose stream can be resumed. */
  public static void enableResumable(Channel channel) {
    enable(channel, RESUMABLE_IDLE_SECONDS, RESUMABLE_INTERVAL_SECONDS, RESUMABLE_PROBES);
  }

  private static void enable(Channel channel, int idleSeconds, int intervalSeconds, int probes) {
    if (!(channel instanceof EpollSocketChannel tcp)) {
      return;
    }
    try {
      tcp.config()
          .setKeepAlive(true)
          .setTcpKeepIdle(idleSeconds)
          .setTcpKeepIntvl(intervalSeconds)
          .setTcpKeepCnt(probes);
      tcp.config().setOption(TCP_RTO_MAX_MS, RETRY_MILLIS);
    } catch (ChannelException e) {
      // The connection has ended already, which its first read tells; or the kernel is older than
      // the last option, and bytes that nobody acknowledges are given up by StreamSilence alone.
    }
  }
}
