// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.rejection;

/** A field of a request with a value that is not allowed. */
public final class InvalidFieldException extends Exception {
  private static final long serialVersionUID = 1L;

  private final transient RejectionReason.InvalidField reason;

  /**
   * Describes the field.
   *
   * @param field its name in the message, such as {@code compute_percent}
   * @param value as people read it
   * @param allowed such as {@code 1 to 100}
   */
  public InvalidFieldException(String field, String value, String allowed) {
    this(new RejectionReason.InvalidField(field, value, allowed));
  }

  private InvalidFieldException(RejectionReason.InvalidField reason) {
    super(reason.text(), null, false, false);
    this.reason = reason;
  }

  public RejectionReason.InvalidField reason() {
    return reason;
  }
}
