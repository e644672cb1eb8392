// SPDX-License-Identifier: Apache-2.0
package io.gpupool.client.connection;

import io.grpc.Status;

/** The text of a status, for people. */
public final class StatusText {
  private StatusText() {}

  /** The description and the message of the cause, as far as there are any, else the code. */
  public static String of(Status status) {
    String text = status.getDescription() == null ? "" : status.getDescription();
    String cause = status.getCause() == null ? "" : " (" + status.getCause().getMessage() + ")";
    return text.isEmpty() ? status.getCode() + cause : text + cause;
  }
}
