// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.identity;

import java.util.OptionalLong;

/**
 * What the pool knows of a token, which is not the token itself.
 *
 * @param createdAtMillis since 1970
 * @param expiresAtMillis since 1970; empty: never
 */
public record Token(
    String tenant, Role role, long createdAtMillis, OptionalLong expiresAtMillis, String note) {
  public boolean isExpired(long nowMillis) {
    return expiresAtMillis.isPresent() && nowMillis >= expiresAtMillis.getAsLong();
  }
}
