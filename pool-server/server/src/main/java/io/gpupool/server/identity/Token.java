// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.identity;

import org.jspecify.annotations.Nullable;

/**
 * The record of a token, without the token itself.
 *
 * @param createdAtMillis since 1970
 * @param expiresAtMillis since 1970; null: never
 */
public record Token(
    String tenant, Role role, long createdAtMillis, @Nullable Long expiresAtMillis, String note) {
  public boolean isExpired(long nowMillis) {
    return expiresAtMillis != null && nowMillis >= expiresAtMillis;
  }
}
