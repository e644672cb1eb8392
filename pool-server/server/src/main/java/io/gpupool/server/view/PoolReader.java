// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.view;

import io.gpupool.server.history.GpuHistory;
import io.gpupool.server.history.Window;
import io.gpupool.server.identity.UserInfo;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A reader of a pool server's state. Any thread may ask; a server that has ended never answers. */
public interface PoolReader {
  /** Whether callers must show tokens; otherwise any client that can connect may do anything. */
  boolean needsTokens();

  /** Returns the caller that a token names; empty if nobody is known by it. */
  CompletableFuture<Optional<UserInfo>> caller(@Nullable String token);

  /** The reason why a token is not accepted, for its bearer. */
  CompletableFuture<String> refusal(@Nullable String token);

  /** Returns all that a token's bearer may see; empty if nobody is known by it. */
  CompletableFuture<Optional<PoolSnapshot>> read(@Nullable String token);

  /** All that an admin may see, for this process itself. */
  CompletableFuture<PoolSnapshot> whole();

  /**
   * The use of a GPU of this server, as far as a token's bearer may see it; empty if the GPU is
   * another server's, or nobody is known by the token.
   */
  CompletableFuture<Optional<GpuHistory>> history(
      @Nullable String token, String gpu, Window window);

  /** Returns the reason why no program can be served now, in a sentence; empty if one can. */
  CompletableFuture<Optional<String>> trouble();
}
