// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent;

import java.util.function.Supplier;

/** A token that stays the same. */
record TokenText(String get) implements Supplier<String> {
  /** Throws {@link IllegalArgumentException} if it cannot be one. */
  TokenText {
    TokenCredentials.headers(get);
  }
}
