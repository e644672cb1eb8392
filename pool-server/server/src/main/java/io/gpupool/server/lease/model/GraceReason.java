// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.model;

import io.gpupool.server.limits.LeaseLimits;

/**
 * The reason for a grace period. It says how long the period is and why the lease ends after it.
 */
public enum GraceReason {
  /** The holder has closed its stream. */
  HOLDER_LEFT("its holder is gone", GraceReason.SHORT_MILLIS, false),

  /** The holder's connection broke. */
  HOLDER_LOST(
      "the connection to its holder was lost, and the holder did not come back",
      GraceReason.SHORT_MILLIS,
      true),

  /** The holder need not stay connected, but has to come back now and then. */
  NOT_RENEWED("its holder did not renew it", GraceReason.SHORT_MILLIS, false),

  /** This server was restarted. */
  SERVER_RESTARTED(
      "its holder did not come back after the server's restart", GraceReason.LONG_MILLIS, true),

  /** The server to which the holder was connected is gone. */
  HOLDERS_SERVER_GONE(
      "its holder did not come back to another server", GraceReason.LONG_MILLIS, true),

  /** Another server granted the lease, and the holder is connected to none. */
  NEVER_HELD("its holder did not come", GraceReason.LONG_MILLIS, true);

  /** The grace period of a holder that knows its server, in milliseconds. */
  public static final long SHORT_MILLIS = 1000;

  /** The grace period of a holder that has to find a server first, in milliseconds. */
  public static final long LONG_MILLIS = 10_000;

  private final String text;
  private final long leastMillis;
  private final boolean brokenConnection;

  GraceReason(String text, long leastMillis, boolean brokenConnection) {
    this.text = text;
    this.leastMillis = leastMillis;
    this.brokenConnection = brokenConnection;
  }

  /** The reason for which the lease ends when the grace period is over. */
  public String text() {
    return text;
  }

  /**
   * The length of the grace period: the one the lease was asked for with, if that is longer. Where
   * the connection to the holder broke, it is the resume window, if that is longer still.
   */
  public long millis(LeaseLimits limits) {
    long millis = Math.max(leastMillis, limits.graceMillis());
    return brokenConnection ? Math.max(millis, limits.resumeWindowMillis()) : millis;
  }
}
