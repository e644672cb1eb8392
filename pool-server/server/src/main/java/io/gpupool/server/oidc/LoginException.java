// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.oidc;

/** A login that is not believed. The message tells the caller why. */
final class LoginException extends Exception {
  private static final long serialVersionUID = 1L;

  LoginException(String message) {
    super(message, null, false, false);
  }
}
