// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport;

import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The judgement of whether the other end of one connection is gone, by the states of it that are
 * looked at about once a second. Complements {@link StreamKeepAlive}: the kernel sends no
 * keep-alive probe while bytes are unacknowledged, and repeats those for a quarter of an hour.
 * Owned by one thread.
 */
public final class StreamSilence {
  private final long limitNanos;

  /** The time since which it has not answered; null while it answers. */
  private @Nullable Long sinceNanos;

  private int received;

  /** Judges by a limit. */
  public StreamSilence(int limitSeconds) {
    limitNanos = TimeUnit.SECONDS.toNanos(limitSeconds);
  }

  /**
   * Takes the next state.
   *
   * @return true: bytes or probes have been without an acknowledgement, and nothing at all has
   *     come, for too long
   */
  public boolean isTooLong(TcpState state, long nowNanos) {
    if (!isUnanswered(state)) {
      sinceNanos = null;
    } else if (sinceNanos == null || state.received() != received) {
      sinceNanos = nowNanos;
    }
    received = state.received();
    return sinceNanos != null && nowNanos - sinceNanos >= limitNanos;
  }

  /**
   * An end that takes no bytes may leave some unacknowledged for as long as it likes, but answers
   * probes.
   */
  private static boolean isUnanswered(TcpState state) {
    return state.unansweredProbes() > 0
        || (state.unacknowledged() > 0 && state.sendWindow() != null && state.sendWindow() > 0);
  }
}
