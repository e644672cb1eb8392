// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli;

import io.gpupool.client.connection.PoolRequestException;

/** The command's advice for a lease that is refused: the pool's reasons name no options. */
public final class LeaseAdvice {
  private LeaseAdvice() {}

  /** Returns the reason, and the options by which the request could be served. */
  public static String text(PoolRequestException refusal) {
    return refusal.getMessage()
        + switch (refusal.leaseCause()) {
          case CAUSE_NO_CAPACITY -> "; -m or -p asks for less, --wait waits for room";
          case CAUSE_NO_MATCH -> "; 'gpupool list' shows the GPUs that there are";
          case CAUSE_INVALID,
              CAUSE_DENIED,
              CAUSE_DRAINING,
              CAUSE_CANCELLED,
              CAUSE_UNSPECIFIED,
              UNRECOGNIZED ->
              "";
        };
  }
}
