// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.os;

import io.gpupool.cuda.SilenceLimits;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Detection of a TCP connection whose peer is silent: by keep-alive probes while nothing is under
 * way, by asking the kernel while something is. Sockets of other kinds are left alone.
 */
public final class TcpWatch {
  private static final int SOL_SOCKET = 1;
  private static final int SO_KEEPALIVE = 9;
  private static final int IPPROTO_TCP = 6;
  private static final int TCP_KEEPIDLE = 4;
  private static final int TCP_KEEPINTVL = 5;
  private static final int TCP_KEEPCNT = 6;
  private static final int TCP_INFO = 11;

  /*
   * Of struct tcp_info: u8 tcpi_probes, u32 tcpi_unacked, u32 tcpi_last_ack_recv (milliseconds), u32
   * tcpi_notsent_bytes (Linux 4.6). A peer that does not read closes its window: then nothing is
   * unacknowledged, and probes, each of which it answers, come at ever longer intervals.
   */
  private static final int INFO_BYTES = 256;
  private static final int PROBES_OUT = 3;
  private static final int UNACKED = 24;
  private static final int LAST_ACK_RECV = 56;
  private static final int NOTSENT_BYTES = 144;

  private TcpWatch() {}

  /** Has the kernel probe a connection that is idle. */
  public static void keepAlive(int fd) {
    if (Posix.setOption(fd, IPPROTO_TCP, TCP_KEEPIDLE, SilenceLimits.IDLE_SECONDS) == 0) {
      int ignored = Posix.setOption(fd, IPPROTO_TCP, TCP_KEEPINTVL, SilenceLimits.INTERVAL_SECONDS);
      ignored = Posix.setOption(fd, IPPROTO_TCP, TCP_KEEPCNT, SilenceLimits.PROBES);
      ignored = Posix.setOption(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    }
  }

  /**
   * Names the cause of the end of a connection.
   *
   * @param silent whether it was found to be silent
   * @param result what receiving gave at its end
   */
  public static String cause(boolean silent, long result) {
    if (silent || result == -Posix.ETIMEDOUT) {
      return "its peer was silent";
    }
    return result == 0 || result == -Posix.ECONNRESET ? "its peer closed it" : "error " + -result;
  }

  /** Returns whether bytes have been under way for seconds without a sign of the peer. */
  public static boolean isSilent(int fd) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment info = arena.allocate(INFO_BYTES, 8);
      MemorySegment length = arena.allocate(Integer.BYTES, 4);
      Memory.putInt(length.address(), INFO_BYTES);
      if (Posix.getOption(fd, IPPROTO_TCP, TCP_INFO, info.address(), length.address()) != 0) {
        return false;
      }
      long unsent =
          Memory.getInt(length.address()) >= NOTSENT_BYTES + Integer.BYTES
              ? Integer.toUnsignedLong(Memory.getInt(info.address() + NOTSENT_BYTES))
              : 0;
      boolean unanswered =
          Memory.getInt(info.address() + UNACKED) != 0
              || unsent > 0
                  && Memory.getByte(info.address() + PROBES_OUT) >= SilenceLimits.WINDOW_PROBES;
      return unanswered
          && Integer.compareUnsigned(
                  Memory.getInt(info.address() + LAST_ACK_RECV), SilenceLimits.MILLIS)
              >= 0;
    }
  }
}
