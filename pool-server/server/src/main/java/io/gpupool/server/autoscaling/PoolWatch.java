// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.autoscaling;

import java.util.Optional;

/** A view of the pool for a scaler, on the thread that owns the pool. */
public interface PoolWatch {
  /** Under which key of its metadata a trigger may hold a token. */
  String TOKEN = "token";

  /** The same, out of the environment of what is scaled. */
  String TOKEN_FROM_ENV = "tokenFromEnv";

  /** The pool for who shows this token; empty if nobody is known by it. */
  Optional<PoolLoad> load(Optional<String> token);

  /** A clock that no one sets. */
  long nowMillis();

  /** Runs a task on that thread after a while. */
  void after(long delayMillis, Runnable task);
}
