// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

/** The way in which a CUDA entry point is answered. Every entry point is in exactly one class. */
public enum CallClass {
  /** Answered in the shim. */
  LOCAL,
  /** Sent and not answered; an error surfaces at the next fence of its context. */
  POSTED,
  /** Waits for its answer, and so for everything posted before it. */
  FENCED,
  /** The server calls the client back. */
  CALLBACK,
  /** Not supported; answers CUDA_ERROR_NOT_SUPPORTED. */
  REFUSED
}
