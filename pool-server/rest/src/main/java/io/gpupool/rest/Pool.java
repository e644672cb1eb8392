// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest;

import io.gpupool.server.Caller;
import io.gpupool.server.PoolReader;
import io.gpupool.server.PoolSnapshot;
import io.gpupool.server.calls.Calls;
import io.grpc.MethodDescriptor;
import io.grpc.StatusRuntimeException;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** What a pool-server shows of itself and does, for threads that wait for it. */
record Pool(PoolReader reader, Calls calls) {
  static final long PATIENCE_MILLIS = 2000;

  Optional<Caller> caller(Optional<String> token) throws Problem {
    return await(reader.caller(token), PATIENCE_MILLIS);
  }

  Optional<PoolSnapshot> snapshot(Optional<String> token) throws Problem {
    return await(reader.read(token), PATIENCE_MILLIS);
  }

  Optional<String> trouble() throws Problem {
    return await(reader.trouble(), PATIENCE_MILLIS);
  }

  /** Calls a method of the control plane; what it refuses becomes a problem. */
  <Q, A> A ask(MethodDescriptor<Q, A> method, Optional<String> token, Q request) throws Problem {
    return await(calls.call(method, token, request), PATIENCE_MILLIS);
  }

  private static <T> T await(CompletableFuture<T> answer, long millis) throws Problem {
    try {
      return answer.get(millis, TimeUnit.MILLISECONDS);
    } catch (TimeoutException e) {
      answer.cancel(false);
      throw new Problem(503, "the server's control thread does not answer");
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      answer.cancel(false);
      throw new Problem(503, "the server is stopping");
    } catch (ExecutionException e) {
      if (e.getCause() instanceof StatusRuntimeException refusal) {
        throw Refusals.problem(refusal.getStatus());
      }
      throw new IllegalStateException(e.getCause());
    }
  }
}
