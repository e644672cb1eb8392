// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Decides which GPUs serve a request: a pure function over a snapshot of what is free. Packs: takes
 * the fullest GPUs that still fit, and one server for all GPUs of a request where one can.
 */
final class Placement {
  private Placement() {}

  /** A GPU and what of it can be granted now. */
  record Offer(Gpu gpu, Share free) {}

  /** One GPU's part of a granted request. */
  record Part(Gpu gpu, Share share) {}

  /** What became of a request. */
  sealed interface Outcome {
    /** The parts are on different GPUs, in the order in which the program will see them. */
    record Placed(List<Part> parts) implements Outcome {}

    /** No GPU of the pool could ever serve it. */
    record Impossible(String reason) implements Outcome {}

    /** It has to wait for others; {@code best} is the offer that comes closest. */
    record Full(Offer best, int fitting) implements Outcome {}
  }

  static Outcome place(Ask ask, List<Offer> snapshot) {
    List<Offer> matching = snapshot.stream().filter(o -> o.gpu().matches(ask.selectors())).toList();
    if (matching.isEmpty()) {
      return new Outcome.Impossible(
          snapshot.isEmpty()
              ? "the pool has no GPUs"
              : "no GPU matches; the pool has for example " + snapshot.getFirst().gpu().describe());
    }
    List<Offer> large =
        matching.stream().filter(o -> o.gpu().whole().covers(ask.shareOf(o.gpu()))).toList();
    if (large.isEmpty()) {
      Gpu largest =
          matching.stream()
              .map(Offer::gpu)
              .max(Comparator.comparingLong(Gpu::memoryBytes))
              .orElseThrow();
      return new Outcome.Impossible(
          "the largest GPU that matches is " + largest.describe() + "; ask for less (-m or -p)");
    }
    if (large.size() < ask.gpus()) {
      return new Outcome.Impossible(
          "only " + large.size() + (large.size() == 1 ? " GPU" : " GPUs") + " can serve it");
    }
    List<Offer> fitting =
        large.stream().filter(o -> o.free().covers(ask.shareOf(o.gpu()))).toList();
    if (fitting.size() < ask.gpus()) {
      return new Outcome.Full(closest(ask, large), fitting.size());
    }
    return new Outcome.Placed(
        choose(ask, fitting).stream().map(o -> new Part(o.gpu(), ask.shareOf(o.gpu()))).toList());
  }

  private static List<Offer> choose(Ask ask, List<Offer> fitting) {
    Comparator<Offer> fullestFirst =
        Comparator.<Offer>comparingDouble(o -> leftOver(ask, o))
            .thenComparing(o -> o.gpu().server())
            .thenComparingInt(o -> o.gpu().ordinal());
    Map<String, List<Offer>> servers = new LinkedHashMap<>();
    fitting.stream()
        .sorted(fullestFirst)
        .forEach(o -> servers.computeIfAbsent(o.gpu().server(), s -> new ArrayList<>()).add(o));
    Optional<List<Offer>> single =
        servers.values().stream()
            .filter(offers -> offers.size() >= ask.gpus())
            .map(offers -> offers.subList(0, ask.gpus()))
            .min(
                Comparator.comparingDouble(
                    offers -> offers.stream().mapToDouble(o -> leftOver(ask, o)).sum()));
    return single.orElseGet(() ->
        servers.values().stream()
            .sorted(Comparator.comparingInt((List<Offer> offers) -> -offers.size()))
            .flatMap(List::stream)
            .limit(ask.gpus())
            .toList());
  }

  /** What part of the GPU stays free behind the grant; the larger of memory and compute. */
  private static double leftOver(Ask ask, Offer offer) {
    Share left = offer.free().minus(ask.shareOf(offer.gpu()));
    return Math.max(
        (double) left.memoryBytes() / offer.gpu().memoryBytes(),
        (double) left.computeBasisPoints() / Share.WHOLE_COMPUTE);
  }

  private static Offer closest(Ask ask, List<Offer> large) {
    return large.stream()
        .max(
            Comparator.comparingDouble(o ->
                Math.min(
                    (double) o.free().memoryBytes()
                        / Math.max(1, ask.shareOf(o.gpu()).memoryBytes()),
                    (double) o.free().computeBasisPoints()
                        / ask.shareOf(o.gpu()).computeBasisPoints())))
        .orElseThrow();
  }
}
