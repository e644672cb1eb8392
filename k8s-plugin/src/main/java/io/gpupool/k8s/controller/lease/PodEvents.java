// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller.lease;

import io.gpupool.k8s.controller.pod.PodFacts;
import io.gpupool.k8s.controller.pod.PodKey;
import io.gpupool.k8s.controller.pod.PodState;
import io.gpupool.k8s.controller.pod.PodState.Reason;
import io.gpupool.runtime.Timers;
import java.util.EnumMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The reports of a pod's state and events: their content and their timing. Owned by the
 * controller's thread.
 */
final class PodEvents {
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
        texts.put(reason, withoutPlace(told.message()));
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
    String text = withoutPlace(state.message());
    long nowNanos = services.timers().nowNanos();
    Long before = atNanos.get(reason);
    boolean news =
        reason == Reason.GRANTED
            ? !text.equals(texts.get(reason)) || last != reason
            : before == null
                || !text.equals(texts.get(reason))
                    && nowNanos - before >= services.times().reports().repeated().toNanos();
    if (news) {
      atNanos.put(reason, nowNanos);
      texts.put(reason, text);
      boolean warning = reason == Reason.REFUSED || reason == Reason.GIVEN_BACK;
      services.reporter().event(pod, warning, "Lease" + reason.text(), state.message());
    }
  }

  private static String withoutPlace(String message) {
    return message.replaceAll("place \\d+ in the queue: ", "");
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
