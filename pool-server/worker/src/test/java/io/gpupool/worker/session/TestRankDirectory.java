// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.session.collective.RankDirectory;
import io.gpupool.worker.session.collective.RankName;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A directory of the ranks of several sessions in this process, which connects them by sockets. */
final class TestRankDirectory implements RankDirectory {
  private record Member(int ranks, byte @Nullable [] uniqueId, Listener listener) {}

  @GuardedBy("this")
  private final Map<RankName, Member> members = new HashMap<>();

  @Override
  public synchronized void join(
      RankName name, int ranks, byte @Nullable [] uniqueId, Listener listener) {
    if (members.putIfAbsent(name, new Member(ranks, uniqueId, listener)) != null) {
      listener.refused("the rank is taken");
      return;
    }
    for (int rank = 0; rank < ranks; rank++) {
      if (find(name, rank).isEmpty()) {
        return;
      }
    }
    byte @Nullable [] first = find(name, 0).orElseThrow().uniqueId();
    for (int rank = 0; rank < ranks; rank++) {
      find(name, rank).orElseThrow().listener().complete(first);
    }
  }

  @Override
  public synchronized void leave(RankName name, boolean lost) {
    Member left = members.remove(name);
    for (int rank = 0; left != null && lost && rank < left.ranks(); rank++) {
      find(name, rank).ifPresent(member -> member.listener().lost(name.rank(), "it was killed"));
    }
  }

  @Override
  public synchronized void connect(RankName name, int to) {
    int[] pair = Posix.socketPair();
    Objects.requireNonNull(members.get(name)).listener().connected(to, pair[0]);
    find(name, to).orElseThrow().listener().connection(name.rank(), pair[1]);
  }

  @GuardedBy("this")
  private Optional<Member> find(RankName name, int rank) {
    return Optional.ofNullable(members.get(new RankName(name.communicator(), rank)));
  }

  /** Returns how many ranks there are. */
  synchronized int size() {
    return members.size();
  }
}
