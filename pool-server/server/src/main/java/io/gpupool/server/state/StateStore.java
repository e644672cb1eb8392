// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.state;

import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * The store of a pool's state: keys with values, changed by numbered atomic commits. The model is
 * etcd's, so that one server's own file and an etcd cluster can both stand behind it: a commit
 * names the revisions at which it saw the keys it depends on, and changes nothing if one of them
 * has changed since.
 *
 * <p>A store is also a replica of its content: reading never waits. For any thread.
 */
public interface StateStore extends AutoCloseable {
  Optional<Entry> get(String key);

  /** All entries whose keys start with this, as they were at one revision. */
  Listing read(String prefix);

  /**
   * Changes all or nothing. When it returns, what was written lasts, and all watchers have heard of
   * it; after a conflict they have heard of what it conflicts with.
   *
   * @throws StateException if it cannot be written; then nothing has changed
   */
  Commit commit(List<Condition> conditions, List<Write> writes) throws StateException;

  /**
   * What there is, and from then on every change, in their order. The listener is called by
   * whichever thread commits, one call at a time, and must not commit itself.
   */
  Listing watch(String prefix, Consumer<List<Change>> listener);

  /** Why nothing can be committed now; empty if, as far as is known, it can. */
  default Optional<String> trouble() {
    return Optional.empty();
  }

  @Override
  void close();
}
