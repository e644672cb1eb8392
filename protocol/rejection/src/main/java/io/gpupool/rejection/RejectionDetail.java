// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rejection;

import io.gpupool.control.v1.RejectionReason;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.ProtoUtils;
import java.util.Optional;

/** The rejection reason in the trailers of a gRPC call that was refused. */
public final class RejectionDetail {
  private static final Metadata.Key<RejectionReason> KEY =
      Metadata.Key.of(
          "gpupool-rejection-bin",
          ProtoUtils.metadataMarshaller(RejectionReason.getDefaultInstance()));

  private RejectionDetail() {}

  /** Returns a failure that carries the reason, and its sentence as the description. */
  public static StatusRuntimeException failure(Status status, RejectionReason reason) {
    return failure(status, RejectionText.of(reason), reason);
  }

  /** Returns a failure that carries the reason beside another description. */
  public static StatusRuntimeException failure(
      Status status, String description, RejectionReason reason) {
    Metadata trailers = new Metadata();
    trailers.put(KEY, reason);
    return status.withDescription(description).asRuntimeException(trailers);
  }

  /** Returns the reason that a failed call gives, if it gives one. */
  public static Optional<RejectionReason> of(Throwable failure) {
    return Optional.ofNullable(Status.trailersFromThrowable(failure))
        .map(trailers -> trailers.get(KEY));
  }
}
