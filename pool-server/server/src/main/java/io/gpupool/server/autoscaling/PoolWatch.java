// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.autoscaling;

import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A view of the pool for a scaler, on the thread that owns the pool. */
public interface PoolWatch {
  /** Under which key of its metadata a trigger may hold a token. */
  String TOKEN = "token";

  /** The same, out of the environment of what is scaled. */
  String TOKEN_FROM_ENV = "tokenFromEnv";

  /** Returns the load that this token's bearer may see; empty if the token names nobody. */
  Optional<PoolLoad> load(@Nullable String token);

  /** A clock that no one sets. */
  long nowMillis();

  /** Runs a task on that thread after a while. */
  void after(long delayMillis, Runnable task);
}
