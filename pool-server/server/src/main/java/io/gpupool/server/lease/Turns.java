// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease;

import io.gpupool.server.placement.Ask;
import io.gpupool.server.placement.Placement;
import io.gpupool.server.placement.Placement.Offer;
import io.gpupool.server.placement.Placement.Outcome;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.server.records.Use;
import io.gpupool.server.select.Selection;
import io.gpupool.server.tenant.Budgets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * Whose turn it is: a pure function over those who wait and what is free.
 *
 * <p>Priority first, then who came first; but waiting counts as priority does, so that nobody waits
 * for ever behind a stream of more important requests. Who does not fit lets others pass, for a
 * while: then the GPUs that could serve it are kept for it, so that small requests cannot keep a
 * large one waiting for ever.
 */
final class Turns {
  /** The waiting that a point of priority is worth. */
  static final long POINT_NANOS = TimeUnit.SECONDS.toNanos(6);

  /** How long a request lets others pass. */
  static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(60);

  private static final Comparator<Waiting> ORDER =
      Comparator.comparingLong(Turns::countedSinceNanos).thenComparingLong(Waiting::number);

  private Turns() {}

  /**
   * One that waits.
   *
   * @param number in the order in which they came
   * @param tenant on whose account; empty: nobody's
   * @param sinceNanos when it came
   */
  record Waiting(long number, Ask ask, String tenant, int priority, long sinceNanos) {}

  /** What those ask for who get the same answer. */
  private record Wish(Ask ask, String tenant) {}

  /** What is to become of one that waits. */
  sealed interface Turn {
    Waiting waiting();

    /** It is its turn. */
    record Now(Waiting waiting, List<Part> parts) implements Turn {}

    /** There is no room for it. */
    record Later(Waiting waiting, Outcome.Full full) implements Turn {}

    /** There would be room, which is kept for one that has waited long. */
    record Behind(Waiting waiting, Waiting first) implements Turn {}

    /**
     * Its tenant holds too much.
     *
     * @param ever whether it would be too much without all the tenant holds
     */
    record Barred(Waiting waiting, String reason, boolean ever) implements Turn {}

    /**
     * It can never be served.
     *
     * @param tooLarge whether a smaller share could be
     */
    record Never(Waiting waiting, String reason, boolean tooLarge) implements Turn {}
  }

  /** Decides for all that wait; the turns come in the order of their places in the queue. */
  static List<Turn> decide(
      Collection<Waiting> all, List<Offer> snapshot, Budgets budgets, long nowNanos) {
    List<Offer> free = new ArrayList<>(snapshot);
    List<Waiting> kept = new ArrayList<>();
    Budgets left = budgets;
    List<Turn> turns = new ArrayList<>();
    // What finds no room finds none later on, either, for nothing becomes free here.
    Map<Wish, Outcome.Full> full = new HashMap<>();
    for (Waiting waiting : all.stream().sorted(ORDER).toList()) {
      Wish wish = new Wish(waiting.ask, waiting.tenant);
      Turn turn =
          full.containsKey(wish)
              ? new Turn.Later(waiting, full.get(wish))
              : turn(waiting, free, kept, left);
      turns.add(turn);
      if (turn instanceof Turn.Later later) {
        full.put(wish, later.full());
      }
      if (turn instanceof Turn.Now now) {
        now.parts().forEach(part -> free.replaceAll(offer -> without(offer, part)));
        left = left.with(waiting.tenant, Use.of(now.parts()));
      } else if (turn instanceof Turn.Later && nowNanos - waiting.sinceNanos >= PATIENCE_NANOS) {
        kept.add(waiting);
      }
    }
    return turns;
  }

  private static Turn turn(Waiting waiting, List<Offer> free, List<Waiting> kept, Budgets budgets) {
    if (!kept.isEmpty()
        && Placement.place(waiting.ask, waiting.tenant, open(free, kept))
            instanceof Outcome.Placed(List<Part> parts)) {
      return within(budgets, waiting, parts).orElseGet(() -> new Turn.Now(waiting, parts));
    }
    return switch (Placement.place(waiting.ask, waiting.tenant, free)) {
      case Outcome.Placed(List<Part> parts) ->
          within(budgets, waiting, parts)
              .orElseGet(() ->
                  kept.isEmpty()
                      ? new Turn.Now(waiting, parts)
                      : new Turn.Behind(waiting, kept.getFirst()));
      case Outcome.Full full -> new Turn.Later(waiting, full);
      case Outcome.Impossible(String reason, boolean tooLarge) ->
          new Turn.Never(waiting, reason, tooLarge);
    };
  }

  private static Optional<Turn> within(Budgets budgets, Waiting waiting, List<Part> parts) {
    Use use = Use.of(parts);
    return budgets
        .whyNot(waiting.tenant, use)
        .map(reason -> new Turn.Barred(waiting, reason, budgets.neverAllows(waiting.tenant, use)));
  }

  /** What is not kept for others. */
  private static List<Offer> open(List<Offer> free, List<Waiting> kept) {
    List<Offer> open = free;
    for (Waiting other : kept) {
      Selection selection = new Selection(other.ask.selectors());
      open =
          open.stream()
              .filter(offer ->
                  !offer.suits(other.ask, other.tenant, selection)
                      || !offer.canEverServe(other.ask))
              .toList();
    }
    return open;
  }

  private static Offer without(Offer offer, Part part) {
    return offer.holds(part) ? offer.without(part.share()) : offer;
  }

  private static long countedSinceNanos(Waiting waiting) {
    return waiting.sinceNanos - waiting.priority * POINT_NANOS;
  }
}
