// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.request;

import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The result of reading a pod.
 *
 * @param request what it asks for, as far as that is not refused
 * @param refusals all errors; empty: none
 * @param warnings for the author, each under 256 characters
 * @param kept the counts of containers that were counted before and whose request is unchanged
 * @param touched containers that name gpupool's resources, whether they ask for something or not
 * @param commands containers whose command is a shell line, as Bitfusion took it
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
