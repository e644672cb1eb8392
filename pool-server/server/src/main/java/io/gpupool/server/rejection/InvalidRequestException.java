// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.rejection;

/** A request that cannot be met as it stands; the message is one line for the person who asked. */
public final class InvalidRequestException extends Exception {
  private static final long serialVersionUID = 1L;

  public InvalidRequestException(String message) {
    super(message);
  }
}
