// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.request;

import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What was read of a pod.
 *
 * @param request what it asks for, as far as it is not refused
 * @param refusals all that is wrong; empty: nothing
 * @param warnings for whoever wrote it, each under 256 characters
 * @param kept of containers whose request was counted before and stands as it was, the count
 * @param touched containers that name resources of ours, whether they ask for something or not
 * @param commands containers whose command is a line for a shell, as Bitfusion took it
 */
public record Reading(
    PodRequest request,
    List<Refusal> refusals,
    List<String> warnings,
    Map<String, Long> kept,
    Set<String> touched,
    Set<String> commands) {
  public Reading {
    refusals = List.copyOf(refusals);
    warnings = List.copyOf(warnings);
    kept = Map.copyOf(kept);
    touched = Set.copyOf(touched);
    commands = Set.copyOf(commands);
  }
}
