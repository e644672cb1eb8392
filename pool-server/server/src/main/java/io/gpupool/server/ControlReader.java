// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/** Reads the pool's state on the control thread for those on other threads. */
record ControlReader(Executor control, Tokens tokens, PoolView view, Workers workers)
    implements PoolReader {
  @Override
  public CompletableFuture<Optional<PoolSnapshot>> read(Optional<String> token) {
    return CompletableFuture.supplyAsync(
        () -> tokens.authenticate(token).map(view::snapshot), control);
  }

  @Override
  public CompletableFuture<Optional<String>> trouble() {
    return CompletableFuture.supplyAsync(view::trouble, control);
  }
}
