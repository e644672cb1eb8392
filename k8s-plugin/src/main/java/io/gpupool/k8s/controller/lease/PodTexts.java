// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller.lease;

import io.gpupool.k8s.controller.pod.PodState;
import io.gpupool.k8s.controller.pod.PodState.Reason;
import java.time.Duration;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;

/** The texts that report a pod's state, made from the states of its leases. */
final class PodTexts {
  private static final String LOST =
      "the connection of a program was lost, and may come back until ";
  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("HH:mm:ss'Z'", Locale.ROOT).withZone(ZoneOffset.UTC);

  private PodTexts() {}

  /** Returns the state; empty while nothing is known. */
  static Optional<PodState> state(
      List<PodLease> claims, boolean pausing, Map<String, String> leases) {
    if (pausing) {
      return Optional.of(
          new PodState(
              Reason.QUEUED,
              "its granted leases were released while it waited for the others; it asks again"
                  + " soon",
              leases,
              false));
    }
    if (claims.isEmpty()) {
      return Optional.of(new PodState(Reason.GRANTED, "it needs no lease any more", leases, true));
    }
    if (claims.stream().allMatch(claim -> claim.state() == PodLease.State.HELD)) {
      return Optional.of(granted(claims, leases));
    }
    return state(claims, PodLease.State.REFUSED, Reason.REFUSED, PodLease::reason, leases)
        .or(() -> state(claims, PodLease.State.AWAY, Reason.UNREACHABLE, PodLease::reason, leases))
        .or(() ->
            state(
                claims,
                PodLease.State.QUEUED,
                Reason.QUEUED,
                claim -> "place " + claim.place() + " in the queue: " + claim.reason(),
                leases));
  }

  private static PodState granted(List<PodLease> claims, Map<String, String> leases) {
    String granted =
        texts(
            claims,
            claims,
            claim -> GrantText.of(claim.lease().orElseThrow(), claim.wanted().request()));
    List<PodLease> lost =
        claims.stream().filter(claim -> claim.disconnectedUntil().isPresent()).toList();
    if (lost.isEmpty()) {
      return new PodState(Reason.GRANTED, granted, leases, true);
    }
    String until =
        texts(claims, lost, claim -> LOST + TIME.format(claim.disconnectedUntil().orElseThrow()));
    return new PodState(Reason.DISCONNECTED, granted + "; " + until, leases, true);
  }

  /**
   * Returns a message without the parts that change while its pod stays in the same state, or only
   * loses connections.
   */
  static String withoutDetails(String message) {
    return message
        .replaceAll("; (container \\S+: )?" + LOST + ".*", "")
        .replaceAll("place \\d+ in the queue: ", "");
  }

  /** Returns the state of a pod that no node has taken for so long. */
  static PodState givenBack(Duration unplaced, Map<String, String> leases) {
    return new PodState(
        Reason.GIVEN_BACK,
        "no node has taken the pod for "
            + unplaced.toSeconds()
            + " s, so its leases were released; it asks again once a node takes it",
        leases,
        false);
  }

  private static Optional<PodState> state(
      List<PodLease> claims,
      PodLease.State state,
      Reason reason,
      Function<PodLease, String> text,
      Map<String, String> leases) {
    List<PodLease> those = claims.stream().filter(claim -> claim.state() == state).toList();
    return those.isEmpty()
        ? Optional.empty()
        : Optional.of(new PodState(reason, texts(claims, those, text), leases, false));
  }

  private static String texts(
      List<PodLease> all, List<PodLease> those, Function<PodLease, String> text) {
    return those.stream()
        .map(claim ->
            all.size() == 1
                ? text.apply(claim)
                : "container " + claim.wanted().container() + ": " + text.apply(claim))
        .collect(Collectors.joining("; "));
  }
}
