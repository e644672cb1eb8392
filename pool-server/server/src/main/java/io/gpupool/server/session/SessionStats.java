// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import io.gpupool.server.identity.HolderName;
import io.gpupool.wire.TextMessage;

/**
 * The statistics of a session as its worker last reported them: totals since its start.
 *
 * @param atNanos when the worker reported them
 * @param waiting whether its program waits for the GPU
 */
public record SessionStats(
    long atNanos,
    Calls calls,
    Traffic traffic,
    GpuTime gpuTime,
    Memory memory,
    boolean waiting,
    String lastError) {
  static final SessionStats NONE =
      new SessionStats(
          0,
          new Calls(0, 0, 0, 0),
          new Traffic(0, 0, 0, 0),
          new GpuTime(0, 0, 0),
          new Memory(0, 0),
          false,
          "");

  /**
   * The CUDA calls of the program.
   *
   * @param fenced those that were answered
   * @param perSecond between this report and the one before
   * @param lastAtNanos the time of the last report with new calls; 0: there was none
   */
  public record Calls(long total, long fenced, double perSecond, long lastAtNanos) {}

  /**
   * The bytes of the program's call stream.
   *
   * @param peerReceivedBytes from the program's workers at other servers
   * @param peerSentBytes to the program's workers at other servers
   */
  public record Traffic(
      long receivedBytes, long sentBytes, long peerReceivedBytes, long peerSentBytes) {}

  /** The time of the GPU that the program used, waited for, and was kept from by a hard share. */
  public record GpuTime(long usedNanos, long waitedNanos, long throttledNanos) {}

  /**
   * The GPU memory of the program.
   *
   * @param refused allocations beyond the lease's memory
   * @param driverBytes the part of its memory that the driver takes by itself
   */
  public record Memory(long refused, long driverBytes) {}

  /**
   * Returns the statistics of a {@code stats} message; fields that are missing or unreadable count
   * as 0.
   */
  SessionStats next(TextMessage message, long nowNanos) {
    return new SessionStats(
        nowNanos,
        nextCalls(message, nowNanos),
        new Traffic(
            number(message, "bytesIn"),
            number(message, "bytesOut"),
            number(message, "peerBytesIn"),
            number(message, "peerBytesOut")),
        new GpuTime(
            number(message, "gpuNanos"),
            number(message, "waitedNanos"),
            number(message, "throttledNanos")),
        new Memory(number(message, "refused"), number(message, "driverMemory")),
        number(message, "waits") > 0,
        HolderName.plain(message.get("lastError").orElse("")));
  }

  private Calls nextCalls(TextMessage message, long nowNanos) {
    long total = number(message, "calls");
    double seconds = (nowNanos - atNanos) / 1e9;
    double rate = atNanos == 0 || seconds <= 0 ? 0 : Math.max(0, total - calls.total()) / seconds;
    long lastAtNanos = total > calls.total() ? nowNanos : calls.lastAtNanos();
    return new Calls(total, Math.min(total, number(message, "fenced")), rate, lastAtNanos);
  }

  private static long number(TextMessage message, String key) {
    try {
      return Math.max(0, Long.parseLong(message.get(key).orElse("0")));
    } catch (NumberFormatException e) {
      return 0;
    }
  }
}
