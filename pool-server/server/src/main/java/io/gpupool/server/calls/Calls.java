// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.calls;

import io.grpc.MethodDescriptor;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** The methods of a control plane that answer once. For any thread. */
public interface Calls {
  /**
   * Calls a method as who shows this token.
   *
   * @return its answer, or an {@link io.grpc.StatusRuntimeException}; a server that has ended never
   *     answers. Cancelling it withdraws the call
   */
  <Q, A> CompletableFuture<A> call(
      MethodDescriptor<Q, A> method, Optional<String> token, Q request);
}
