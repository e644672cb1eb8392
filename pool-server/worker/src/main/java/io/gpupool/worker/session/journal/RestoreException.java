// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.journal;

/** A session cannot be made again here. */
public final class RestoreException extends Exception {
  private static final long serialVersionUID = 1;

  /** With the reason. */
  public RestoreException(String reason) {
    super(reason);
  }
}
