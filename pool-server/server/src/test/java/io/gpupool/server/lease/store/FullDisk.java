// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.store;

import io.gpupool.server.state.Change;
import io.gpupool.server.state.Commit;
import io.gpupool.server.state.Condition;
import io.gpupool.server.state.Entry;
import io.gpupool.server.state.Listing;
import io.gpupool.server.state.LocalStore;
import io.gpupool.server.state.StateException;
import io.gpupool.server.state.StateStore;
import io.gpupool.server.state.Write;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/** A store that can be kept from writing. */
public final class FullDisk implements StateStore {
  private final LocalStore store;
  private boolean full;

  public FullDisk(LocalStore store) {
    this.store = store;
  }

  public void setFull(boolean isFull) {
    full = isFull;
  }

  @Override
  public Optional<Entry> get(String key) {
    return store.get(key);
  }

  @Override
  public Listing read(String prefix) {
    return store.read(prefix);
  }

  @Override
  public Commit commit(List<Condition> conditions, List<Write> writes) throws StateException {
    if (full) {
      throw new StateException("the change cannot be written; is the disk full?");
    }
    return store.commit(conditions, writes);
  }

  @Override
  public Listing watch(String prefix, Consumer<List<Change>> listener) {
    return store.watch(prefix, listener);
  }

  @Override
  public void close() {
    store.close();
  }
}
