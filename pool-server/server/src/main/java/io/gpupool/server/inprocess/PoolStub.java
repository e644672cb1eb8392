// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.inprocess;

import io.grpc.MethodDescriptor;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The methods of a control plane that take one message. For any thread. */
public interface PoolStub {
  /**
   * Calls a method as who shows this token.
   *
   * @return its answer, or an {@link io.grpc.StatusRuntimeException}; a server that has ended never
   *     answers. Cancelling it withdraws the call
   */
  default <Q, A> CompletableFuture<A> call(
      MethodDescriptor<Q, A> method, @Nullable String token, Q request) {
    return call(method, token, request, answer -> {});
  }

  /**
   * The same of a method that answers more than once.
   *
   * @param each told of every answer on the control plane's thread, which it must not keep
   * @return the last answer
   */
  <Q, A> CompletableFuture<A> call(
      MethodDescriptor<Q, A> method, @Nullable String token, Q request, Consumer<A> each);
}
