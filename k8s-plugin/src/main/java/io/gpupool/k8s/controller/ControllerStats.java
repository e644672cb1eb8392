// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller;

/**
 * The counts of a controller's work.
 *
 * @param pods that have not ended
 * @param waiting leases that are asked for and not granted, for whatever reason
 * @param granted leases that it holds
 * @param apiCalls calls about pods to the API server since its start, without watches
 * @param inContact whether the API server answers
 */
public record ControllerStats(
    int pods, int waiting, int granted, long apiCalls, boolean inContact) {}
