// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

import java.util.LinkedHashSet;
import java.util.Set;

/** The channels that a rank uses, and whether what it handed over has been taken. */
final class Links {
  final int rank;
  final int ranks;
  private final Channels channels;
  private final Set<Outlet> used = new LinkedHashSet<>();

  Links(int rank, int ranks, Channels channels) {
    this.rank = rank;
    this.ranks = ranks;
    this.channels = channels;
  }

  Outlet to(int other) throws ChannelException {
    Outlet outlet = channels.to(other);
    used.add(outlet);
    return outlet;
  }

  /** Returns the channel from a rank, for the caller to receive by it next. */
  Inlet from(int other) throws ChannelException {
    Inlet inlet = channels.from(other);
    if (!inlet.sendsPending()) {
      channels.pending().leave();
    }
    return inlet;
  }

  /** Returns a rank by its distance from this one, round the ring. */
  int neighbour(int distance) {
    return Math.floorMod(rank + distance, ranks);
  }

  /** Waits until everything handed over is taken. */
  void flush() throws ChannelException {
    channels.pending().flush();
    for (Outlet outlet : used) {
      outlet.flush();
    }
    used.clear();
  }

  /** Ends all channels, and waits until nobody reads what was handed over. */
  void abandon() {
    channels.close();
    for (Outlet outlet : used) {
      try {
        outlet.flush();
      } catch (ChannelException e) {
        // The caller throws the reason why it gives up.
      }
    }
    used.clear();
  }
}
