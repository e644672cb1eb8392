// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.state;

import java.io.IOException;

/** A failure to read or write the state. The message says what to do. */
public final class StateException extends IOException {
  private static final long serialVersionUID = 1L;

  public StateException(String message) {
    super(message);
  }

  public StateException(String message, Throwable cause) {
    super(message, cause);
  }
}
