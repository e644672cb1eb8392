// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker;

/** There is no NVIDIA driver that works. */
final class NoDriverException extends Exception {
  private static final long serialVersionUID = 1L;

  NoDriverException(String message, Throwable cause) {
    super(message, cause);
  }
}
