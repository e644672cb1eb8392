// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.state;

import org.jspecify.annotations.Nullable;

/**
 * A change of a key by a commit.
 *
 * @param entry the new entry; null: the key is deleted
 */
public record Change(long revision, String key, @Nullable Entry entry) {}
