// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest;

import io.gpupool.server.PoolReader;
import io.gpupool.server.PoolSnapshot;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A request that has been checked against its operation.
 *
 * @param id what stands for the part of the path in braces; empty if there is none
 * @param query values of the operation's parameters
 * @param token that the caller shows
 * @param knownTags what the caller has already
 */
record Call(
    Operation operation,
    String id,
    Map<String, String> query,
    Optional<String> token,
    List<String> knownTags,
    PoolReader pool) {
  private static final long PATIENCE_SECONDS = 2;

  /** All that the caller may see now. */
  PoolSnapshot snapshot() throws Problem {
    Optional<PoolSnapshot> snapshot = await(pool.read(token));
    if (snapshot.isEmpty()) {
      throw new Problem(
          401,
          token.isEmpty()
              ? "a token is needed, as in 'Authorization: Bearer TOKEN'; an admin makes one with"
                  + " 'gpupool tenant token create'"
              : "the token is not known: it was mistyped, has expired or was revoked; ask an admin"
                  + " for a new one",
          Map.of("WWW-Authenticate", "Bearer"));
    }
    return snapshot.get();
  }

  /** Why no program can be served now. */
  Optional<String> trouble() throws Problem {
    return await(pool.trouble());
  }

  private static <T> T await(CompletableFuture<T> answer) throws Problem {
    try {
      return answer.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    } catch (TimeoutException e) {
      throw new Problem(503, "the server's control thread does not answer");
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new Problem(503, "the server is stopping");
    } catch (ExecutionException e) {
      throw new IllegalStateException(e.getCause());
    }
  }
}
