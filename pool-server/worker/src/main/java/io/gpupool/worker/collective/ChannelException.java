// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

/** The end of a channel between ranks before everything went through it. */
public final class ChannelException extends Exception {
  private static final long serialVersionUID = 1;

  public ChannelException(String message) {
    super(message);
  }
}
