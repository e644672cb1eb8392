// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.lease;

import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The credentials that a connection of the agent shows to a pool. A value, for any thread.
 *
 * @param token equal for all programs with the same one, so that they share a connection; null:
 *     none
 * @param ofAgent whether the pool is the agent's own, which alone sees the agent's certificate
 */
public record PoolCredentials(@Nullable Supplier<String> token, boolean ofAgent) {
  /** Returns the credentials for the agent's own pool. */
  public static PoolCredentials toOwnPool(@Nullable Supplier<String> token) {
    return new PoolCredentials(token, true);
  }

  /** Returns the credentials for a pool that a program has named: its own token, or none. */
  static PoolCredentials toOtherPool(@Nullable Supplier<String> token) {
    return new PoolCredentials(token, false);
  }
}
