// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.Random;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/** The places, counted in bytes relayed in both directions together, at which connections break. */
final class CutPlan {
  /** What happens to the connection that carries the byte. */
  enum Cut {
    RESET,
    CLOSE,
    HALF_OPEN
  }

  /**
   * What to do with bytes that have come.
   *
   * @param bytes how many of them to relay
   * @param cut what to do then; null: nothing
   */
  record Step(int bytes, @Nullable Cut cut) {}

  private record Planned(long atByte, Cut cut) {}

  private final Queue<Planned> planned = new ArrayDeque<>();
  private long relayed;
  private int done;

  private CutPlan() {}

  static CutPlan none() {
    return new CutPlan();
  }

  /** Plans random cuts, the same for the same seed, between these bytes. */
  static CutPlan random(long seed, int cuts, long firstByte, long endByte) {
    Random random = new Random(seed);
    CutPlan plan = new CutPlan();
    LongStream.generate(() -> random.nextLong(firstByte, Math.max(endByte, firstByte + 1)))
        .limit(cuts)
        .sorted()
        .forEach(at ->
            plan.planned.add(new Planned(at, Cut.values()[random.nextInt(Cut.values().length)])));
    return plan;
  }

  /** Counts bytes that have come. */
  synchronized Step forward(int bytes) {
    Planned next = planned.peek();
    if (next == null || next.atByte > relayed + bytes) {
      relayed += bytes;
      return new Step(bytes, null);
    }
    planned.remove();
    done++;
    int before = (int) Math.max(0, next.atByte - relayed);
    relayed += before;
    return new Step(before, next.cut);
  }

  /** Bytes relayed so far. */
  synchronized long relayed() {
    return relayed;
  }

  /** Cuts made so far. */
  synchronized int done() {
    return done;
  }
}
