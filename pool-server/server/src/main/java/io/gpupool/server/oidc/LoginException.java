// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.oidc;

/** Why a login is not believed, in words for the one who shows it. */
final class LoginException extends Exception {
  private static final long serialVersionUID = 1L;

  LoginException(String message) {
    super(message, null, false, false);
  }
}
