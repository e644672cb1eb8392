// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.request;

import io.gpupool.control.v1.Refused;
import io.gpupool.control.v1.RejectionReason;
import io.gpupool.rejection.RejectionText;
import java.util.Map;

/**
 * The words of Kubernetes for rejection reasons: resources, annotations and claims stand beside the
 * facts.
 */
public enum RejectionAdvice {
  /** Advice for a pod that asks for an amount of memory. */
  MEMORY("lower " + Names.GPU_MEMORY),
  /** Advice for a pod that asks for GPUs or fractions. */
  FRACTION("lower " + Names.GPU),
  /** Advice for a claim of dynamic resource allocation. */
  CLAIM("lower the capacity that the claim requests");

  private static final Map<String, String> NAMES =
      Map.ofEntries(
          Map.entry("gpus", Names.GPU_COUNT),
          Map.entry("fraction", Names.GPU),
          Map.entry("memory_bytes", Names.GPU_MEMORY),
          Map.entry("compute_percent", Names.GPU_COMPUTE),
          Map.entry("selectors", Names.SELECT),
          Map.entry("tenant", Names.TENANT),
          Map.entry("priority", Names.PRIORITY),
          Map.entry("class", Names.CLASS),
          Map.entry("resume_window_millis", Names.RESUME_WINDOW),
          Map.entry("gang.name", Names.GANG),
          Map.entry("gang.size", Names.GANG_SIZE));

  private final String askForLess;

  RejectionAdvice(String askForLess) {
    this.askForLess = askForLess;
  }

  /** Returns the advice for a request. */
  public static RejectionAdvice of(GpuRequest request) {
    return request.size() instanceof GpuRequest.Size.Memory ? MEMORY : FRACTION;
  }

  /** Returns why a request is refused, and what its owner can change. */
  public String text(Refused refusal) {
    return RejectionText.of(refusal, RejectionAdvice::name) + advice(refusal.getReason());
  }

  /** Returns why a request waits, and what its owner can change. */
  public String text(RejectionReason reason) {
    return RejectionText.of(reason, RejectionAdvice::name) + advice(reason);
  }

  private static String name(String field) {
    return NAMES.getOrDefault(field, field);
  }

  private String advice(RejectionReason reason) {
    return switch (reason.getKindCase()) {
      case NO_CAPACITY -> "; " + askForLess + " or wait";
      case TOO_LARGE -> "; " + askForLess;
      case TOO_FEW_GPUS, SLICES_ONLY -> "; lower " + Names.GPU_COUNT + " or " + Names.GPU;
      case NO_MATCH, RESERVED_FOR_OTHERS -> "; change " + Names.SELECT;
      case OVER_QUOTA -> "; it waits for other pods of the tenant to end";
      case PRIORITY_TOO_HIGH -> "; lower " + Names.PRIORITY;
      case SERVERS_DRAINING -> "; wait for other GPUs, or have an admin uncordon the node";
      case GANG_NO_CAPACITY -> "; " + askForLess + " or wait";
      case INVALID_FIELD,
          GANG_INCOMPLETE,
          KEPT_FOR_EARLIER,
          EMPTY_POOL,
          NO_PARTITION,
          QUEUE_FULL,
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
