// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

/**
 * The counts of a session's work so far.
 *
 * @param calls frames executed
 * @param answered those of them that were answered
 * @param client bytes on the call stream
 * @param peers bytes of copies, on the connections with other workers of the program
 * @param driverMemoryBytes memory of GPUs that the driver takes beyond the session's allocations
 * @param waits fences and copies that are not answered yet
 * @param lastError the last error of a posted call, as text; empty if there was none
 */
public record SessionCounters(
    long calls,
    long answered,
    Traffic client,
    Traffic peers,
    long driverMemoryBytes,
    int waits,
    String lastError) {
  /** Bytes received and sent. */
  public record Traffic(long bytesIn, long bytesOut) {}
}
