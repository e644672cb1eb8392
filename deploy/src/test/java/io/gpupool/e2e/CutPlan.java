// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.Random;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/** The places, counted in bytes relayed in both directions together, at which faults begin. */
final class CutPlan {
  private static final int LEAST_MILLIS = 1000;

  /** A program that finds no server at all while it begins is told so at once. */
  private static final int BEGINNING_BYTES = 8 << 10;

  /**
   * A fault that is due at a byte.
   *
   * @param millis how long it lasts, if it is one that lasts
   * @param toServer the direction in which bytes get lost, if it is one
   */
  record Cut(Fault fault, int millis, boolean toServer) {}

  /**
   * What to do with bytes that have come.
   *
   * @param bytes how many of them to relay
   * @param cut the fault that befalls their connection then; null: none
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

  /** Plans one fault. */
  static CutPlan at(long byteNumber, Cut cut) {
    CutPlan plan = new CutPlan();
    plan.planned.add(new Planned(byteNumber, cut));
    return plan;
  }

  /**
   * Plans faults at random bytes, the same for the same seed.
   *
   * @param endByte the end of the bytes, which may come sooner or later in the run
   * @param mostMillis how long a fault lasts at most
   */
  static CutPlan random(long seed, Fault fault, int cuts, long endByte, int mostMillis) {
    Random random = new Random(seed);
    CutPlan plan = new CutPlan();
    // A short program is over before that.
    long firstByte =
        Fault.OF_A_CONNECTION.contains(fault) ? 0 : Math.min(BEGINNING_BYTES, endByte / 2);
    LongStream.generate(() -> random.nextLong(firstByte, Math.max(endByte, firstByte + 1)))
        .limit(cuts)
        .sorted()
        .forEach(at ->
            plan.planned.add(
                new Planned(
                    at,
                    new Cut(
                        fault,
                        random.nextInt(LEAST_MILLIS, mostMillis + 1),
                        random.nextBoolean()))));
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
    int before = (int) Math.max(0, next.atByte - relayed);
    relayed += before;
    return new Step(before, next.cut);
  }

  /** Notes that a fault has befallen a connection. */
  synchronized void made() {
    done++;
  }

  /** Bytes relayed so far. */
  synchronized long relayed() {
    return relayed;
  }

  /** Faults so far. */
  synchronized int done() {
    return done;
  }
}
