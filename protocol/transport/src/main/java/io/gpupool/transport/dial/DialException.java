// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport.dial;

/** The reason why a call stream could not be connected, in words for people. */
public final class DialException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** The kinds of failures. */
  public enum Why {
    /** No connection, or none that answers. */
    UNREACHABLE,
    /** The connection broke before the other side had answered. */
    BROKEN,
    /** The two sides do not speak the same. */
    PROTOCOL,
    /** The token by which the session was opened is valid no more. */
    DENIED,
    /** The other side does not accept the session. */
    REFUSED
  }

  private final Why why;

  public DialException(Why why, String message) {
    super(message, null, false, false);
    this.why = why;
  }

  public Why why() {
    return why;
  }
}
