// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.view;

import io.gpupool.runtime.Timers;
import io.gpupool.server.autoscaling.PoolLoad;
import io.gpupool.server.autoscaling.PoolWatch;
import io.gpupool.server.tenant.AuthInterceptor;
import io.gpupool.server.tenant.Tokens;
import io.grpc.Context;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The pool as a scaler sees it: all of it for an admin, otherwise what its token may see. */
public record ScalerWatch(Tokens tokens, PoolView view, Timers timers) implements PoolWatch {
  @Override
  public Optional<PoolLoad> load(@Nullable String token) {
    // A stream goes on for as long as what was shown at its start is believed.
    return Optional.ofNullable(AuthInterceptor.principal())
        .filter(tokens::stillHolds)
        .or(() -> tokens.authenticate(token))
        .map(principal ->
            PoolLoad.of(
                view.servers().list().getServersList(),
                view.queue().list(principal).getRequestsList()));
  }

  @Override
  public long nowMillis() {
    return timers.nowNanos() / 1_000_000;
  }

  @Override
  public void after(long delayMillis, Runnable task) {
    timers.after(delayMillis, Context.current().wrap(task));
  }
}
