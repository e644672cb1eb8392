// SPDX-License-Identifier: Apache-2.0
package io.gpupool.nccl;

/** A failure of NCCL, with its {@code ncclResult_t}; the message is for the program. */
public final class NcclException extends Exception {
  private static final long serialVersionUID = 1;
  private static final int SYSTEM_ERROR = 2;

  private final int result;

  /** Of a call that returned this result. */
  public NcclException(int result, String message) {
    super(message);
    this.result = result;
  }

  /** Of a library that is not there or cannot be used. */
  public NcclException(String message) {
    this(SYSTEM_ERROR, message);
  }

  /** Returns the {@code ncclResult_t}. */
  public int result() {
    return result;
  }
}
