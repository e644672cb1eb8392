// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

/**
 * The counts of what a session has done so far.
 *
 * @param calls frames executed
 * @param answered those of them that were answered
 * @param bytesIn received
 * @param bytesOut sent
 * @param peerBytesIn of copies, received from other workers of the program
 * @param peerBytesOut of copies, sent to them
 * @param driverMemoryBytes of GPUs, that the driver takes for it beyond its allocations
 * @param waits fences and copies that are not answered yet
 * @param lastError the last error of a posted call, as text; empty if there was none
 */
public record SessionCounters(
    long calls,
    long answered,
    long bytesIn,
    long bytesOut,
    long peerBytesIn,
    long peerBytesOut,
    long driverMemoryBytes,
    int waits,
    String lastError) {}
