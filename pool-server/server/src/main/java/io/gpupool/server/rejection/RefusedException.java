// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.rejection;

import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A change that is refused; the message is one line for the person who asked. */
public final class RefusedException extends Exception {
  private static final long serialVersionUID = 1L;

  /** Kinds of refusal, as a caller may want to tell them apart. */
  public enum Why {
    INVALID,
    NOT_FOUND,
    EXISTS,
    /** Not as long as others use it, or beyond a quota. */
    IN_USE,
    /** It is not what the caller saw. */
    CHANGED,
    /** The caller may not. */
    DENIED
  }

  private final Why why;
  private final transient @Nullable RejectionReason reason;

  public RefusedException(Why why, String message) {
    this(why, message, null);
  }

  /**
   * Describes a refusal whose reason clients put into their own words.
   *
   * @param reason null: the message is all there is
   */
  public RefusedException(Why why, String message, @Nullable RejectionReason reason) {
    super(message);
    this.why = why;
    this.reason = reason;
  }

  public Why why() {
    return why;
  }

  /** Returns the reason as data, if there is one. */
  public Optional<RejectionReason> reason() {
    return Optional.ofNullable(reason);
  }
}
