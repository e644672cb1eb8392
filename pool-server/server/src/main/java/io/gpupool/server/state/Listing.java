// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.state;

import java.util.List;

/** Entries in the order of their keys, as they were at a revision. */
public record Listing(long revision, List<Entry> entries) {
  public Listing {
    entries = List.copyOf(entries);
  }
}
