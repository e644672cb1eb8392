// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.service;

import io.gpupool.server.history.GpuHistory;
import io.gpupool.server.history.Window;
import io.gpupool.server.identity.Caller;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * What a pool-server shows of itself. Any thread may ask; a server that has ended never answers.
 */
public interface PoolReader {
  /** Whether callers must show tokens; otherwise whoever can connect may do anything. */
  boolean needsTokens();

  /** Who shows this token; empty if nobody is known by it. */
  CompletableFuture<Optional<Caller>> caller(Optional<String> token);

  /** Why nobody is known by this token, for whoever shows it. */
  CompletableFuture<String> refusal(Optional<String> token);

  /** All that who shows this token may see; empty if nobody is known by it. */
  CompletableFuture<Optional<PoolSnapshot>> read(Optional<String> token);

  /** All that an admin may see, for this process itself. */
  CompletableFuture<PoolSnapshot> whole();

  /**
   * What a GPU of this server was used for, as who shows this token may see it; empty if the GPU is
   * another server's, or nobody is known by the token.
   */
  CompletableFuture<Optional<GpuHistory>> history(
      Optional<String> token, String gpu, Window window);

  /** Why no program can be served now, in a sentence; empty if one can. */
  CompletableFuture<Optional<String>> trouble();
}
