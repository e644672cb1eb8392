// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.rejection;

import java.util.List;
import java.util.Optional;

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
  private final transient List<RejectionReason> reasons;

  public RefusedException(Why why, String message) {
    super(message);
    this.why = why;
    reasons = List.of();
  }

  /** A refusal whose reason clients put into their own words. */
  public RefusedException(Why why, String message, RejectionReason reason) {
    super(message);
    this.why = why;
    reasons = List.of(reason);
  }

  public Why why() {
    return why;
  }

  /** Returns the reason as data, if there is one. */
  public Optional<RejectionReason> reason() {
    return reasons.stream().findFirst();
  }
}
