// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.control;

import io.gpupool.server.state.Change;
import io.gpupool.server.state.Commit;
import io.gpupool.server.state.Condition;
import io.gpupool.server.state.Entry;
import io.gpupool.server.state.Listing;
import io.gpupool.server.state.StateException;
import io.gpupool.server.state.StateStore;
import io.gpupool.server.state.Write;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Consumer;

/**
 * A state store whose commits may take seconds. They run on a thread of their own, while the
 * control thread serves calls that only read. For any thread.
 */
public final class AsyncStateStore implements StateStore {
  private final StateStore store;
  private final ControlThread control;
  private final ExecutorService writer = Executors.newSingleThreadExecutor(AsyncStateStore::daemon);

  public AsyncStateStore(StateStore store, ControlThread control) {
    this.store = store;
    this.control = control;
  }

  private static Thread daemon(Runnable task) {
    Thread thread = new Thread(task, "gpupool-commit");
    thread.setDaemon(true);
    return thread;
  }

  @Override
  public Commit commit(List<Condition> conditions, List<Write> writes) throws StateException {
    if (control.isAwaiting()) {
      // Who asks has been let in to look.
      throw new StateException("another change is just being written; try again");
    }
    CompletableFuture<Commit> done =
        CompletableFuture.supplyAsync(
            () -> {
              try {
                return store.commit(conditions, writes);
              } catch (StateException e) {
                throw new CompletionException(e);
              }
            },
            writer);
    control.await(done);
    try {
      return done.join();
    } catch (CompletionException e) {
      if (e.getCause() instanceof StateException failure) {
        throw failure;
      }
      throw e;
    }
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
  public Listing watch(String prefix, Consumer<List<Change>> listener) {
    return store.watch(prefix, listener);
  }

  @Override
  public Optional<String> trouble() {
    return store.trouble();
  }

  @Override
  public void close() {
    store.close();
    writer.shutdown();
  }
}
