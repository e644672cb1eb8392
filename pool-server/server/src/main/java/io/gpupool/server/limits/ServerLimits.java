// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.limits;

/**
 * The limits of a server: those that keep one tenant from taking it away from the others, and that
 * of the moves by which it makes room for requests.
 *
 * @param movesPerHour of leases; 0: it only tells which would make room
 */
public record ServerLimits(SessionLimits sessions, QueueLimits queue, int movesPerHour) {
  public static final ServerLimits DEFAULT =
      new ServerLimits(SessionLimits.DEFAULT, QueueLimits.DEFAULT, 0);

  private static final int MAX_MOVES_PER_HOUR = 3600;

  public ServerLimits {
    Bounds.check("--defragment-moves", movesPerHour, 0, MAX_MOVES_PER_HOUR);
  }
}
