// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.call;

import io.gpupool.control.v1.Refused;
import io.gpupool.json.JsonForm;
import io.gpupool.rejection.RejectionDetail;
import io.gpupool.rejection.RejectionText;
import io.gpupool.rest.http.ProblemException;
import io.grpc.Status;
import java.util.Map;

/** The problems to which the control plane's refusals are mapped. */
public final class ProblemMapper {
  private ProblemMapper() {}

  /** Returns the problem of a lease request that is refused. */
  public static ProblemException problem(Refused refused) {
    int status =
        switch (refused.getCause()) {
          case CAUSE_INVALID, CAUSE_NO_MATCH -> 422;
          case CAUSE_DENIED -> 403;
          default -> 409;
        };
    return new ProblemException(
        status,
        RejectionText.of(refused, JsonForm::fieldName),
        Map.of(),
        Map.of("reason", JsonForm.of(refused.getReason())));
  }

  /** Returns the problem of a failed call, with the reason that its trailers may carry. */
  public static ProblemException problem(Throwable failure) {
    ProblemException problem = problem(Status.fromThrowable(failure));
    return RejectionDetail.of(failure)
        .map(reason ->
            new ProblemException(
                problem.status(),
                reason.hasInvalidField()
                    ? RejectionText.of(reason, JsonForm::fieldName)
                    : String.valueOf(problem.getMessage()),
                Map.of(),
                Map.of("reason", JsonForm.of(reason))))
        .orElse(problem);
  }

  public static ProblemException problem(Status status) {
    String reason =
        status.getDescription() == null ? status.getCode().name() : status.getDescription();
    return new ProblemException(
        switch (status.getCode()) {
          case INVALID_ARGUMENT, OUT_OF_RANGE -> 422;
          case UNAUTHENTICATED -> 401;
          case PERMISSION_DENIED -> 403;
          case NOT_FOUND -> 404;
          case ALREADY_EXISTS, FAILED_PRECONDITION -> 409;
          case ABORTED -> 412;
          // The disk is full, which is no fault of the caller's.
          case RESOURCE_EXHAUSTED -> 507;
          case UNAVAILABLE, CANCELLED, DEADLINE_EXCEEDED -> 503;
          case UNIMPLEMENTED -> 501;
          default -> 500;
        },
        reason);
  }
}
