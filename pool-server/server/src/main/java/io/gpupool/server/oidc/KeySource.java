// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.oidc;

import java.io.IOException;

/** A place where an issuer publishes its keys; asking blocks for some seconds at most. */
interface KeySource {
  /**
   * Asks for the keys; there is at least one.
   *
   * @throws IOException if they cannot be had; the message is for people
   */
  PublishedKeys published() throws IOException;
}
