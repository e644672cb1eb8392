// SPDX-License-Identifier: Apache-2.0
package io.gpupool.wire;

/**
 * Bytes from a peer that break the protocol; the message says what was wrong and fits on one line.
 */
public final class WireException extends Exception {
  private static final long serialVersionUID = 1L;

  public WireException(String message) {
    super(message);
  }
}
