// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.options;

import org.jspecify.annotations.Nullable;

/**
 * The names of a pool server.
 *
 * @param name the name under which the pool lists it; null makes one of host and control port
 * @param host the name by which clients and other servers reach it; null: the machine's name
 */
public record NameOptions(@Nullable String name, @Nullable String host) {
  public static final NameOptions DEFAULT = new NameOptions(null, null);
}
