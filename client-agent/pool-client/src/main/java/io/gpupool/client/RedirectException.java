// SPDX-License-Identifier: Apache-2.0
package io.gpupool.client;

/** Redirect to the server that has the lease's GPUs. */
public final class RedirectException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final String address;

  /**
   * Names the server of the answer.
   *
   * @param address {@code HOST:PORT}
   */
  public RedirectException(String address) {
    super("the lease's GPUs are at " + address, null, false, false);
    this.address = address;
  }

  public String address() {
    return address;
  }
}
