// SPDX-License-Identifier: Apache-2.0
package io.gpupool.client.connection;

import java.util.function.Supplier;

/** A token that stays the same. */
public record TokenText(String get) implements Supplier<String> {
  /** Throws {@link IllegalArgumentException} if it cannot be one. */
  public TokenText {
    TokenCredentials.headers(get);
  }
}
