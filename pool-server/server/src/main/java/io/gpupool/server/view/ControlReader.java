// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.view;

import io.gpupool.server.history.GpuHistory;
import io.gpupool.server.history.UseHistory;
import io.gpupool.server.history.Window;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.identity.UserInfo;
import io.gpupool.server.state.RecordStore;
import io.gpupool.server.tenant.Tokens;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

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
  public CompletableFuture<Optional<UserInfo>> caller(@Nullable String token) {
    return tokens
        .ready(token)
        .thenApplyAsync(
            ready ->
                tokens
                    .authenticate(token)
                    .map(principal ->
                        new UserInfo(
                            principal.tenant(),
                            principal.role(),
                            principal.text(),
                            tokens.expiresAtMillis(principal).orElse(null))),
            control);
  }

  @Override
  public CompletableFuture<String> refusal(@Nullable String token) {
    return tokens.ready(token).thenApplyAsync(ready -> tokens.rejectionReason(token), control);
  }

  @Override
  public CompletableFuture<Optional<PoolSnapshot>> read(@Nullable String token) {
    return tokens
        .ready(token)
        .thenApplyAsync(
            ready -> tokens.authenticate(token).map(principal -> view.snapshot(principal, admin)),
            control);
  }

  @Override
  public CompletableFuture<PoolSnapshot> whole() {
    return CompletableFuture.supplyAsync(() -> view.snapshot(Principal.ANYONE, admin), control);
  }

  @Override
  public CompletableFuture<Optional<GpuHistory>> history(
      @Nullable String token, String gpu, Window window) {
    return tokens
        .ready(token)
        .thenApplyAsync(
            ready ->
                tokens
                    .authenticate(token)
                    .flatMap(principal -> history.of(gpu, window, principal::maySee)),
            control);
  }

  @Override
  public CompletableFuture<Optional<String>> trouble() {
    return CompletableFuture.supplyAsync(
        () -> view.servers().trouble().or(records::trouble), control);
  }
}
