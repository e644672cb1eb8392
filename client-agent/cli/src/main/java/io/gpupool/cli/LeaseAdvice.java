// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli;

import io.gpupool.client.connection.PoolRequestException;
import io.gpupool.control.v1.Queued;
import io.gpupool.control.v1.Refused;
import io.gpupool.control.v1.RejectionReason;
import io.gpupool.rejection.RejectionText;
import java.util.Map;

/** The command's words for rejection reasons: its options and commands stand beside the facts. */
public final class LeaseAdvice {
  private static final Map<String, String> OPTIONS =
      Map.ofEntries(
          Map.entry("gpus", "-n"),
          Map.entry("fraction", "-p"),
          Map.entry("memory_bytes", "-m"),
          Map.entry("compute_percent", "--compute"),
          Map.entry("selectors", "--select"),
          Map.entry("tenant", "the tenant"),
          Map.entry("priority", "--priority"),
          Map.entry("wait_millis", "--wait"),
          Map.entry("partition", "--partition"),
          Map.entry("idle_timeout_millis", "--idle-timeout"),
          Map.entry("time_limit_millis", "--time-limit"),
          Map.entry("resume_window_millis", "--resume-window"),
          Map.entry("suspend_idle_millis", "--suspend-idle"),
          Map.entry("class", "--class"),
          Map.entry("gang.name", "--gang"),
          Map.entry("gang.size", "--gang-size"));

  private LeaseAdvice() {}

  /** Returns why a request failed, and the options by which it could succeed. */
  public static String text(PoolRequestException failure) {
    return failure.refusal().map(LeaseAdvice::text).orElseGet(failure::getMessage);
  }

  /** Returns why a request is refused, and the options by which it could be granted. */
  static String text(Refused refusal) {
    return RejectionText.of(refusal, LeaseAdvice::option)
        + advice(refusal.getReason(), refusal.getWaitedMillis() > 0);
  }

  /** Returns the place of a request that waits, and the reason. */
  public static String text(Queued queued) {
    return "place "
        + queued.getPosition()
        + ": "
        + RejectionText.of(queued.getReason(), LeaseAdvice::option);
  }

  private static String option(String field) {
    return OPTIONS.getOrDefault(field, field);
  }

  private static String advice(RejectionReason reason, boolean hasWaited) {
    return switch (reason.getKindCase()) {
      case NO_CAPACITY ->
          "; -m or -p asks for less, "
              + (hasWaited ? "a larger --wait waits longer" : "--wait waits for room");
      case KEPT_FOR_EARLIER, QUEUE_FULL -> "; 'gpupool lease queue' shows the requests that wait";
      case SERVERS_DRAINING ->
          "; wait for others, or have an admin put it back with 'gpupool server uncordon "
              + reason.getServersDraining().getExample().getServer()
              + "'";
      case OVER_QUOTA ->
          "; 'gpupool lease list' shows the leases, 'gpupool lease release' ends one";
      case GANG_INCOMPLETE, GANG_NO_CAPACITY -> hasWaited ? "; a larger --wait waits longer" : "";
      case PRIORITY_TOO_HIGH -> "; lower --priority";
      case TOO_LARGE -> "; -m or -p asks for less";
      case TOO_FEW_GPUS ->
          reason.getTooFewGpus().getOneServer() && reason.getTooFewGpus().getServers() > 0
              ? "; without --one-server it may have GPUs of several"
              : "; -n asks for fewer";
      case SLICES_ONLY -> "; -n 1 asks for one";
      case EMPTY_POOL, NO_MATCH, RESERVED_FOR_OTHERS ->
          "; 'gpupool list' shows the GPUs that there are";
      case NO_PARTITION -> "; 'gpupool partition list' shows the partitions that there are";
      case INVALID_FIELD,
          SERVER_STOPPING,
          CANCELLED,
          TOKEN_REVOKED,
          NOT_RECORDED,
          NOT_SCHEDULED_YET,
          KIND_NOT_SET ->
          "";
    };
  }
}
