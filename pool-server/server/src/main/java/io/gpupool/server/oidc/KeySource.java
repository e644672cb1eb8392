// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.oidc;

import java.io.IOException;
import java.util.List;

/** Where an issuer's keys are to be had; asking blocks for some seconds at most. */
interface KeySource {
  /**
   * What an issuer publishes.
   *
   * @param issuer as it stands in its tokens
   * @param keys by which it signs now, as far as they can be used here; at least one
   */
  record Published(String issuer, List<IssuerKey> keys) {}

  /**
   * Asks.
   *
   * @throws IOException if they cannot be had; the message is for people
   */
  Published published() throws IOException;
}
