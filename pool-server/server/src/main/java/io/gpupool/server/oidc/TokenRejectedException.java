// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.oidc;

/** A token that the server rejects. The message tells the caller why. */
final class TokenRejectedException extends Exception {
  private static final long serialVersionUID = 1L;

  private final String reason;

  TokenRejectedException(String reason) {
    super(reason, null, false, false);
    this.reason = reason;
  }

  String reason() {
    return reason;
  }
}
