// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.limits;

/** Limits that keep one tenant from taking a server away from the others. */
public record ServerLimits(SessionLimits sessions, QueueLimits queue) {
  public static final ServerLimits DEFAULT =
      new ServerLimits(SessionLimits.DEFAULT, QueueLimits.DEFAULT);
}
