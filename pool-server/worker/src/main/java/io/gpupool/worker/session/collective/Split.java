// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.collective;

import io.gpupool.cuda.CollectiveKind;
import io.gpupool.worker.collective.ChannelException;
import io.gpupool.worker.collective.CollectiveCall;
import io.gpupool.worker.collective.ElementType;
import io.gpupool.worker.collective.Rank;
import io.gpupool.worker.collective.Scalar;
import io.gpupool.worker.os.Memory;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * A split of a communicator: the ranks tell each other their colours and keys, and those of one
 * colour join a communicator, in the order of keys and then of ranks.
 */
final class Split {
  private static final int PAIR_BYTES = 8;

  private final String parent;
  private final int ranks;
  private final int own;
  private final int number;
  private final int color;
  private final int key;

  private record Member(int rank, int key) {}

  /**
   * Begins nothing yet.
   *
   * @param number of the split among the parent's
   * @param color less than 0: the rank is in no part
   */
  Split(SoftCommunicator parent, int number, int color, int key) {
    this.parent = parent.id();
    ranks = parent.ranks();
    own = parent.rank();
    this.number = number;
    this.color = color;
    this.key = key;
  }

  /** Exchanges colours and keys, and has the new communicator join its ranks. */
  void exchange(Rank rank, SoftCommunicator made) throws ChannelException {
    try (Arena arena = Arena.ofShared()) {
      long all = arena.allocate((long) PAIR_BYTES * ranks, 8).address();
      long mine = all + (long) PAIR_BYTES * own;
      Memory.putInt(mine, color);
      Memory.putInt(mine + 4, key);
      rank.run(List.of(gather(mine, all)));
      if (color < 0) {
        made.joinNone();
      } else {
        List<Member> members = members(all);
        made.join(
            new RankName(CommunicatorId.ofSplit(parent, number, color), place(members)),
            members.size());
      }
    }
  }

  private static CollectiveCall gather(long mine, long all) {
    return new CollectiveCall(
        CollectiveKind.ALL_GATHER, ElementType.INT32, 0, 0, mine, all, PAIR_BYTES / 4, Scalar.NONE);
  }

  private List<Member> members(long all) {
    List<Member> members = new ArrayList<>();
    for (int rank = 0; rank < ranks; rank++) {
      long at = all + (long) PAIR_BYTES * rank;
      if (Memory.getInt(at) == color) {
        members.add(new Member(rank, Memory.getInt(at + 4)));
      }
    }
    members.sort(Comparator.comparingInt(Member::key).thenComparingInt(Member::rank));
    return members;
  }

  private int place(List<Member> members) {
    int place = 0;
    while (members.get(place).rank() != own) {
      place++;
    }
    return place;
  }
}
