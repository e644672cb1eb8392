// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller;

/**
 * Counts of what a controller works on.
 *
 * @param pods that have not ended
 * @param waiting leases that are asked for and not granted, whyever
 * @param granted leases that it holds
 * @param apiCalls about pods to the API server since its start, without watches
 * @param inContact whether the API server answers
 */
public record ControllerStats(
    int pods, int waiting, int granted, long apiCalls, boolean inContact) {}
