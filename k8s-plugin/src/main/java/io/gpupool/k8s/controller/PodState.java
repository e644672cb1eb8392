// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller;

import java.util.Map;

/**
 * The state of a pod's leases, as reported on the pod.
 *
 * @param leases by container, those that the pod has
 * @param mayRun whether the pod has all that it needs, so that its gate is to be lifted
 */
record PodState(Reason reason, String message, Map<String, String> leases, boolean mayRun) {
  /** Why it has its leases or has them not. */
  enum Reason {
    QUEUED("Queued"),
    REFUSED("Refused"),
    /** Since no node took it for long. */
    GIVEN_BACK("GivenBack"),
    UNREACHABLE("Unreachable"),
    GRANTED("Granted"),
    /** Since its pod has ended. */
    ENDED("Ended");

    /** As the condition has it. */
    final String text;

    Reason(String text) {
      this.text = text;
    }
  }

  PodState {
    leases = Map.copyOf(leases);
  }

  /** Of a pod that has ended: what it had, it has no more. */
  static PodState ended() {
    return new PodState(Reason.ENDED, "the pod has ended, and its leases with it", Map.of(), false);
  }

  boolean isGranted() {
    return reason == Reason.GRANTED;
  }
}
