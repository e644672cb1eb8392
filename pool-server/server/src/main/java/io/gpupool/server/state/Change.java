// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.state;

import java.util.Optional;

/**
 * What a commit did to a key.
 *
 * @param entry what it is now; empty: it is gone
 */
public record Change(long revision, String key, Optional<Entry> entry) {}
