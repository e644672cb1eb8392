// SPDX-License-Identifier: Apache-2.0
package io.gpupool.client.connection;

import io.gpupool.control.v1.Refused;
import io.gpupool.rejection.RejectionDetail;
import io.gpupool.rejection.RejectionText;
import io.gpupool.transport.dial.DialException;
import io.gpupool.transport.tls.TlsFailure;
import io.grpc.Status;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import java.util.function.UnaryOperator;

/**
 * Reason why a program gets no GPU, in words for the person who started it.
 *
 * <p>The message is one line: what was wrong and what to do.
 */
public final class PoolRequestException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** The causes of the shim's protocol. */
  public enum Cause {
    UNREACHABLE,
    REFUSED,
    PROTOCOL,
    DENIED,
    INTERNAL;

    /** The cause's name in messages to the shim. */
    public String wireName() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  private final Cause cause;
  private final transient Refused refusal;

  public PoolRequestException(Cause cause, String message) {
    this(cause, message, Refused.getDefaultInstance());
  }

  private PoolRequestException(Cause cause, String message, Refused refusal) {
    super(message.replace('\n', ' '), null, false, false);
    this.cause = cause;
    this.refusal = refusal;
  }

  /** Returns the refusal of a lease. */
  public static PoolRequestException of(Refused refusal) {
    return new PoolRequestException(
        Cause.REFUSED, RejectionText.of(refusal, UnaryOperator.identity()), refusal);
  }

  /** Returns the message: one line, what was wrong and what to do. */
  @Override
  public String getMessage() {
    return Objects.requireNonNull(super.getMessage());
  }

  public Cause why() {
    return cause;
  }

  /**
   * Returns the refusal of a lease, which an interface puts into its own words; empty where there
   * is none.
   */
  public Optional<Refused> refusal() {
    return Optional.of(refusal).filter(Refused::hasReason);
  }

  /** Returns the same failure, at one server of several. */
  public PoolRequestException at(String server) {
    return inWords("server " + server + " of the lease: " + getMessage());
  }

  /** Returns the same failure in the words of an interface. */
  public PoolRequestException inWords(String message) {
    return new PoolRequestException(cause, message, refusal);
  }

  /** Returns the failure itself of an asynchronous step, without what completed the steps after. */
  public static Throwable inner(Throwable failure) {
    Throwable inner = failure;
    while (inner instanceof CompletionException && inner.getCause() != null) {
      inner = inner.getCause();
    }
    return inner;
  }

  /** Turns whatever an asynchronous step failed with into a refusal. */
  public static PoolRequestException of(Throwable failure, PoolAddress pool) {
    Throwable inner = inner(failure);
    if (inner instanceof PoolRequestException refusal) {
      return refusal;
    }
    if (inner instanceof DialException dialing) {
      return new PoolRequestException(
          switch (dialing.why()) {
            case UNREACHABLE, BROKEN -> Cause.UNREACHABLE;
            case PROTOCOL -> Cause.PROTOCOL;
            case DENIED -> Cause.DENIED;
            case REFUSED -> Cause.REFUSED;
          },
          Objects.requireNonNullElseGet(dialing.getMessage(), dialing::toString));
    }
    Status status = Status.fromThrowable(inner);
    return switch (status.getCode()) {
      case UNAVAILABLE ->
          new PoolRequestException(
              Cause.UNREACHABLE,
              "pool "
                  + pool
                  + " cannot be reached ("
                  + reason(status)
                  + "); is 'gpupool server' running there and its port open?"
                  + (!pool.tls() && TlsFailure.isHangUp(reason(status))
                      ? " If it speaks TLS, name it as tls://" + pool
                      : ""));
      case DEADLINE_EXCEEDED ->
          new PoolRequestException(
              Cause.UNREACHABLE,
              "pool " + pool + " does not answer; check the network between here and there");
      case PERMISSION_DENIED, UNAUTHENTICATED ->
          new PoolRequestException(Cause.DENIED, "pool " + pool + ": " + reason(status));
      case INVALID_ARGUMENT,
          RESOURCE_EXHAUSTED,
          NOT_FOUND,
          ALREADY_EXISTS,
          FAILED_PRECONDITION,
          ABORTED ->
          new PoolRequestException(
              Cause.REFUSED, "pool " + pool + ": " + reason(status), refusal(inner));
      case UNIMPLEMENTED ->
          new PoolRequestException(
              Cause.PROTOCOL,
              "what listens at " + pool + " is no gpupool server, or one of another version");
      default ->
          new PoolRequestException(
              Cause.INTERNAL,
              "pool "
                  + pool
                  + ": "
                  + (status.getCode() == Status.Code.UNKNOWN ? inner : reason(status)));
    };
  }

  private static Refused refusal(Throwable failure) {
    return RejectionDetail.of(failure)
        .map(reason -> Refused.newBuilder().setReason(reason).build())
        .orElse(Refused.getDefaultInstance());
  }

  private static String reason(Status status) {
    Throwable cause = status.getCause();
    if (cause != null) {
      Optional<String> tls = TlsFailure.of(cause);
      if (tls.isPresent()) {
        return tls.get();
      }
      while (cause.getCause() != null) {
        cause = cause.getCause();
      }
      if (cause.getMessage() != null) {
        return cause.getMessage();
      }
    }
    return status.getDescription() == null ? status.getCode().name() : status.getDescription();
  }
}
