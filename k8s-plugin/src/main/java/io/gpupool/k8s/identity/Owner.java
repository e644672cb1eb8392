// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.identity;

/** The owner of a process. */
public sealed interface Owner {
  /** A container of a pod. */
  record InPod(PodUid pod, ContainerId container) implements Owner {}

  /**
   * No pod, as far as can be told for certain.
   *
   * @param reason a clause for people: "it is in no pod"
   */
  record Unknown(String reason) implements Owner {}
}
