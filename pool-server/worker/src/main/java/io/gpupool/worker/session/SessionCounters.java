// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

/**
 * What a session has done so far.
 *
 * @param calls frames executed
 * @param answered those of them that were answered
 * @param bytesIn received
 * @param bytesOut sent
 * @param waits fences and copies that are not answered yet
 * @param lastError the last error of a posted call, as text; empty if there was none
 */
public record SessionCounters(
    long calls, long answered, long bytesIn, long bytesOut, int waits, String lastError) {}
