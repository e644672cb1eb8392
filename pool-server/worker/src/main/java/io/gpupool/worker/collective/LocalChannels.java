// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Executor;

/** The channels between ranks of one process, made when one of both ends asks for them. */
public final class LocalChannels {
  private record Direction(int from, int to) {}

  @GuardedBy("this")
  private final Map<Direction, LocalChannel> channels = new HashMap<>();

  @GuardedBy("this")
  private final boolean[] closed;

  public LocalChannels(int ranks) {
    closed = new boolean[ranks];
  }

  /**
   * Returns the channels of a rank.
   *
   * @param gpu does work of the rank's GPU on the thread that calls it
   */
  public Channels of(int rank, Executor gpu) {
    PendingSends none = new PendingSends();
    return new Channels() {
      @Override
      public Outlet to(int other) {
        return channel(rank, other);
      }

      @Override
      public Inlet from(int other) {
        return channel(other, rank).on(gpu);
      }

      @Override
      public PendingSends pending() {
        return none;
      }

      @Override
      public void close() {
        LocalChannels.this.close(rank);
      }
    };
  }

  private synchronized LocalChannel channel(int from, int to) {
    LocalChannel channel =
        channels.computeIfAbsent(new Direction(from, to), direction -> new LocalChannel());
    if (closed[from] || closed[to]) {
      channel.close();
    }
    return channel;
  }

  /** Ends all channels of a rank. */
  public synchronized void close(int rank) {
    closed[rank] = true;
    channels.forEach((direction, channel) -> {
      if (direction.from == rank || direction.to == rank) {
        channel.close();
      }
    });
  }
}
