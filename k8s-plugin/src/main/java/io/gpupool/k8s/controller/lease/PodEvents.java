// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller.lease;

import io.gpupool.k8s.controller.pod.PodFacts;
import io.gpupool.k8s.controller.pod.PodKey;
import io.gpupool.k8s.controller.pod.PodState;
import io.gpupool.k8s.controller.pod.PodState.Reason;
import io.gpupool.runtime.Timers;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The reports of a pod's state and events: their content and their timing. Owned by the
 * controller's thread.
 */
final class PodEvents {
  private static final Set<Reason> WARNINGS =
      EnumSet.of(Reason.REFUSED, Reason.GIVEN_BACK, Reason.DISCONNECTED);

  private final PodLeases.SharedServices services;
  private final Map<Reason, Long> atNanos = new EnumMap<>(Reason.class);
  private final Map<Reason, String> texts = new EnumMap<>(Reason.class);
  private @Nullable Reason last;
  private Timers.Cancellable soon = Timers.Cancellable.NOTHING;

  /** Does not repeat what an earlier controller has reported. */
  PodEvents(PodFacts pod, PodLeases.SharedServices services) {
    this.services = services;
    last = told(pod.told());
  }

  private @Nullable Reason told(PodFacts.@Nullable Told told) {
    if (told == null) {
      return null;
    }
    for (Reason reason : Reason.values()) {
      if (reason.text().equals(told.reason())) {
        atNanos.put(reason, services.timers().nowNanos());
        // A grant was told before a connection was lost.
        texts.put(
            reason == Reason.DISCONNECTED ? Reason.GRANTED : reason,
            PodTexts.withoutDetails(told.message()));
        return reason;
      }
    }
    return null;
  }

  /** Cancels reports that were delayed. */
  void none() {
    soon.cancel();
  }

  void state(PodFacts pod, PodState state) {
    soon.cancel();
    if (last == null && !state.isGranted()) {
      // Most pods that wait do so only for a moment.
      soon = services.timers().after(services.times().reports().quiet(), () -> tell(pod, state));
    } else {
      tell(pod, state);
    }
  }

  private void tell(PodFacts pod, PodState state) {
    services.reporter().state(pod, state);
    event(pod.key(), state);
    last = state.reason();
  }

  private void event(PodKey pod, PodState state) {
    Reason reason = state.reason();
    if (reason == Reason.UNREACHABLE) {
      return;
    }
    String text = PodTexts.withoutDetails(state.message());
    long nowNanos = services.timers().nowNanos();
    Long before = atNanos.get(reason);
    boolean repeated =
        before != null && nowNanos - before < services.times().reports().repeated().toNanos();
    boolean changed = !text.equals(texts.get(reason));
    boolean news =
        switch (reason) {
          case GRANTED -> changed || last != Reason.GRANTED && last != Reason.DISCONNECTED;
          case DISCONNECTED -> !repeated;
          default -> before == null || changed && !repeated;
        };
    if (news) {
      atNanos.put(reason, nowNanos);
      texts.put(reason, text);
      services
          .reporter()
          .event(pod, WARNINGS.contains(reason), "Lease" + reason.text(), state.message());
    }
  }

  void lost(PodKey pod, String container, String lease, String reason, boolean started) {
    services
        .reporter()
        .event(
            pod,
            true,
            "LeaseLost",
            "lease "
                + lease
                + " of container "
                + container
                + " has ended: "
                + reason
                + "; another one is asked for"
                + (started ? ", and programs that used it must be started again" : ""));
  }
}
