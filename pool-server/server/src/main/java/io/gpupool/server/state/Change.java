// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.state;

import java.util.Optional;

/**
 * A change of a key by a commit.
 *
 * @param entry the new entry; empty: the key is deleted
 */
public record Change(long revision, String key, Optional<Entry> entry) {}
