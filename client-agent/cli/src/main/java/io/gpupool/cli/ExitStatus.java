// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli;

import io.gpupool.client.connection.PoolRequestException;
import io.gpupool.control.v1.RejectionReason;
import picocli.CommandLine.ExitCode;

/** The exit statuses of a command that gets no lease. */
public final class ExitStatus {
  /** The pool cannot be reached (EX_UNAVAILABLE). */
  public static final int NO_POOL = 69;

  /** There is no lease now; the same request may succeed later (EX_TEMPFAIL). */
  public static final int NO_LEASE = 75;

  /** The pool does not accept the token (EX_NOPERM). */
  public static final int DENIED = 77;

  private ExitStatus() {}

  /** Returns the status of a failed request. */
  public static int of(PoolRequestException failure) {
    return switch (failure.why()) {
      case UNREACHABLE, PROTOCOL -> NO_POOL;
      case DENIED -> DENIED;
      case REFUSED -> failure.refusal().map(refusal -> of(refusal.getReason())).orElse(NO_LEASE);
      case INTERNAL -> ExitCode.SOFTWARE;
    };
  }

  /** Returns the status of a refusal: wrong usage if the pool can never grant the request. */
  static int of(RejectionReason reason) {
    return switch (reason.getKindCase()) {
      case INVALID_FIELD,
          PRIORITY_TOO_HIGH,
          NO_MATCH,
          NO_PARTITION,
          RESERVED_FOR_OTHERS,
          SLICES_ONLY,
          TOO_LARGE,
          TOO_FEW_GPUS ->
          ExitCode.USAGE;
      case TOKEN_REVOKED -> DENIED;
      case NO_CAPACITY,
          SERVERS_DRAINING,
          KEPT_FOR_EARLIER,
          OVER_QUOTA,
          EMPTY_POOL,
          QUEUE_FULL,
          SERVER_STOPPING,
          CANCELLED,
          NOT_RECORDED,
          NOT_SCHEDULED_YET,
          GANG_INCOMPLETE,
          GANG_NO_CAPACITY,
          KIND_NOT_SET ->
          NO_LEASE;
    };
  }
}
