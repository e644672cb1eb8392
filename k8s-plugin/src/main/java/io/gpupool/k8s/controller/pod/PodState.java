// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller.pod;

import java.util.Map;

/**
 * The state of a pod's leases, as reported on the pod.
 *
 * @param leases by container, those that the pod has
 * @param mayRun whether the pod has all that it needs, so that its gate is to be lifted
 */
public record PodState(Reason reason, String message, Map<String, String> leases, boolean mayRun) {
  /** The reasons of a pod's state. */
  public enum Reason {
    QUEUED("Queued"),
    REFUSED("Refused"),
    /** No node has taken the pod for a long time. */
    GIVEN_BACK("GivenBack"),
    UNREACHABLE("Unreachable"),
    GRANTED("Granted"),
    /** The pod has its leases, and a program on them has lost its connection for now. */
    DISCONNECTED("Disconnected"),
    /** The pod has ended. */
    ENDED("Ended");

    private final String text;

    Reason(String text) {
      this.text = text;
    }

    /** Returns the reason as the condition has it. */
    public String text() {
      return text;
    }
  }

  public PodState {
    leases = Map.copyOf(leases);
  }

  /** Returns the state of a pod that has ended and has no leases any more. */
  public static PodState ended() {
    return new PodState(Reason.ENDED, "the pod has ended, and its leases with it", Map.of(), false);
  }

  /** Returns whether the pod has all leases that it needs. */
  public boolean isGranted() {
    return reason == Reason.GRANTED || reason == Reason.DISCONNECTED;
  }
}
