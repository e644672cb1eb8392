// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.service;

import io.gpupool.server.history.GpuHistory;
import io.gpupool.server.history.UseHistory;
import io.gpupool.server.history.Window;
import io.gpupool.server.identity.Caller;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.state.RecordStore;
import io.gpupool.server.tenant.Tokens;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/**
 * A reader of the pool's state for other threads. It reads on the control thread, which lets it in.
 */
public record ControlReader(
    Executor control,
    Tokens tokens,
    PoolView view,
    AdminView admin,
    UseHistory history,
    RecordStore records)
    implements PoolReader {
  @Override
  public boolean needsTokens() {
    return tokens.required();
  }

  @Override
  public CompletableFuture<Optional<Caller>> caller(Optional<String> token) {
    return tokens
        .ready(token)
        .thenApplyAsync(
            ready ->
                tokens
                    .authenticate(token)
                    .map(actor ->
                        new Caller(
                            actor.tenant(),
                            actor.role(),
                            actor.text(),
                            tokens.expiresAtMillis(actor))),
            control);
  }

  @Override
  public CompletableFuture<String> refusal(Optional<String> token) {
    return tokens.ready(token).thenApplyAsync(ready -> tokens.rejectionReason(token), control);
  }

  @Override
  public CompletableFuture<Optional<PoolSnapshot>> read(Optional<String> token) {
    return tokens
        .ready(token)
        .thenApplyAsync(
            ready -> tokens.authenticate(token).map(actor -> view.snapshot(actor, admin)), control);
  }

  @Override
  public CompletableFuture<PoolSnapshot> whole() {
    return CompletableFuture.supplyAsync(() -> view.snapshot(Principal.ANYONE, admin), control);
  }

  @Override
  public CompletableFuture<Optional<GpuHistory>> history(
      Optional<String> token, String gpu, Window window) {
    return tokens
        .ready(token)
        .thenApplyAsync(
            ready ->
                tokens.authenticate(token).flatMap(actor -> history.of(gpu, window, actor::maySee)),
            control);
  }

  @Override
  public CompletableFuture<Optional<String>> trouble() {
    return CompletableFuture.supplyAsync(
        () -> view.servers().trouble().or(records::trouble), control);
  }
}
