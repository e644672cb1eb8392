// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.peer;

/** Another worker sent what it must not. */
public final class PeerException extends Exception {
  private static final long serialVersionUID = 1;

  public PeerException(String message) {
    super(message);
  }
}
