// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.collective;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.worker.collective.LocalChannels;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The ranks of one session by communicator, which exchange bytes within the process. */
final class LocalCommunicators {
  @GuardedBy("this")
  private final Map<Key, Local> all = new HashMap<>();

  /** Ranks that disagree on their number are in none together. */
  private record Key(String communicator, int ranks) {}

  /** The part of a communicator that is in this process. */
  static final class Local {
    final LocalChannels channels;

    @GuardedBy("this")
    private final Set<Integer> ranks = new HashSet<>();

    private Local(int count) {
      channels = new LocalChannels(count);
    }

    synchronized boolean contains(int rank) {
      return ranks.contains(rank);
    }

    private synchronized boolean add(int rank) {
      return ranks.add(rank);
    }

    private synchronized boolean remove(int rank) {
      ranks.remove(rank);
      return ranks.isEmpty();
    }
  }

  /** Returns the part of a communicator with a rank added; null: the rank is there already. */
  synchronized @Nullable Local join(RankName name, int count) {
    Local local = all.computeIfAbsent(new Key(name.communicator(), count), _ -> new Local(count));
    return local.add(name.rank()) ? local : null;
  }

  /** Removes a rank, after which nothing goes over its channels. */
  synchronized void leave(RankName name, int count) {
    Key key = new Key(name.communicator(), count);
    Local local = all.get(key);
    if (local != null) {
      local.channels.close(name.rank());
      if (local.remove(name.rank())) {
        all.remove(key);
      }
    }
  }
}
