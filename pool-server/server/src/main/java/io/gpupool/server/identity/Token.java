// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.identity;

import java.util.OptionalLong;

/**
 * The record of a token, without the token itself.
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
