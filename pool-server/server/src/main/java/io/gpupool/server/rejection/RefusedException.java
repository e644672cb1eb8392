// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.rejection;

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

  public RefusedException(Why why, String message) {
    super(message);
    this.why = why;
  }

  public Why why() {
    return why;
  }
}
