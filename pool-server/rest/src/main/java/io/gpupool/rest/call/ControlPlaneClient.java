// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.call;

import io.gpupool.rest.http.ProblemException;
import io.gpupool.server.history.GpuHistory;
import io.gpupool.server.history.Window;
import io.gpupool.server.identity.UserInfo;
import io.gpupool.server.inprocess.PoolStub;
import io.gpupool.server.view.PoolReader;
import io.gpupool.server.view.PoolSnapshot;
import io.grpc.MethodDescriptor;
import io.grpc.StatusRuntimeException;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** The views and calls of a pool-server, for threads that wait for the answers. */
public record ControlPlaneClient(PoolReader reader, PoolStub calls) {
  private static final long PATIENCE_MILLIS = 2000;

  /** Changes may have to wait for etcd, which may be choosing a leader. */
  public static final long CHANGE_MILLIS = 15_000;

  /** Longer than the pool lets a lease move or be suspended. */
  private static final long LENGTH_MILLIS = 350_000;

  public static final String NOT_KNOWN_YET =
      "what keeps the pool's state does not answer, so it is not known whether this was done; look"
          + " again";

  Optional<UserInfo> caller(@Nullable String token) throws ProblemException {
    return await(reader.caller(token));
  }

  String refusal(@Nullable String token) throws ProblemException {
    return await(reader.refusal(token));
  }

  Optional<PoolSnapshot> snapshot(@Nullable String token) throws ProblemException {
    return await(reader.read(token));
  }

  Optional<GpuHistory> history(@Nullable String token, String gpu, Window window)
      throws ProblemException {
    return await(reader.history(token, gpu, window));
  }

  Optional<String> trouble() throws ProblemException {
    return await(reader.trouble());
  }

  /** Calls a method of the control plane; what it refuses becomes a problem. */
  <Q, A> A ask(MethodDescriptor<Q, A> method, @Nullable String token, Q request)
      throws ProblemException {
    return await(calls.call(method, token, request), CHANGE_MILLIS, NOT_KNOWN_YET);
  }

  /** The same for a method that answers when something has come to its end. */
  <Q, A> A askAtLength(MethodDescriptor<Q, A> method, @Nullable String token, Q request)
      throws ProblemException {
    return await(calls.call(method, token, request), LENGTH_MILLIS, NOT_KNOWN_YET);
  }

  private static <T> T await(CompletableFuture<T> answer) throws ProblemException {
    return await(answer, PATIENCE_MILLIS, "the server's control thread does not answer");
  }

  private static <T> T await(CompletableFuture<T> answer, long millis, String otherwise)
      throws ProblemException {
    try {
      return answer.get(millis, TimeUnit.MILLISECONDS);
    } catch (TimeoutException e) {
      answer.cancel(false);
      throw new ProblemException(503, otherwise);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      answer.cancel(false);
      throw new ProblemException(503, "the server is stopping");
    } catch (ExecutionException e) {
      if (e.getCause() instanceof StatusRuntimeException refusal) {
        throw ProblemMapper.problem(refusal);
      }
      throw new IllegalStateException(e.getCause());
    }
  }
}
