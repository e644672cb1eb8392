// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import io.gpupool.server.identity.HolderName;
import io.gpupool.wire.TextMessage;

/**
 * The statistics of a session as its worker last reported them: totals since its start.
 *
 * @param atNanos when the worker reported them
 * @param fencedCalls those of the calls that were answered
 * @param peerReceivedBytes from the program's workers at other servers
 * @param memoryRefused allocations beyond the lease's memory
 * @param driverMemoryBytes the part of its memory that the driver takes by itself
 * @param callsPerSecond between this report and the one before
 * @param waiting whether its program waits for the GPU
 */
public record SessionStats(
    long atNanos,
    long calls,
    long fencedCalls,
    double callsPerSecond,
    long receivedBytes,
    long sentBytes,
    long peerReceivedBytes,
    long peerSentBytes,
    long gpuNanos,
    long waitedNanos,
    long throttledNanos,
    long memoryRefused,
    long driverMemoryBytes,
    boolean waiting,
    String lastError) {
  static final SessionStats NONE =
      new SessionStats(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, false, "");

  /** Takes in a {@code stats} message; fields that are missing or unreadable count as 0. */
  SessionStats next(TextMessage message, long nowNanos) {
    long nextCalls = number(message, "calls");
    double seconds = (nowNanos - atNanos) / 1e9;
    double rate = atNanos == 0 || seconds <= 0 ? 0 : Math.max(0, nextCalls - calls) / seconds;
    return new SessionStats(
        nowNanos,
        nextCalls,
        Math.min(nextCalls, number(message, "fenced")),
        rate,
        number(message, "bytesIn"),
        number(message, "bytesOut"),
        number(message, "peerBytesIn"),
        number(message, "peerBytesOut"),
        number(message, "gpuNanos"),
        number(message, "waitedNanos"),
        number(message, "throttledNanos"),
        number(message, "refused"),
        number(message, "driverMemory"),
        number(message, "waits") > 0,
        HolderName.plain(message.get("lastError").orElse("")));
  }

  private static long number(TextMessage message, String key) {
    try {
      return Math.max(0, Long.parseLong(message.get(key).orElse("0")));
    } catch (NumberFormatException e) {
      return 0;
    }
  }
}
