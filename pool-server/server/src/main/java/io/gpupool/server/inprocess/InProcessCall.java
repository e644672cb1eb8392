// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.inprocess;

import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.ServerCall;
import io.grpc.Status;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A call of a gRPC service within this process. Runs on the services' thread. */
final class InProcessCall<Q, A> extends ServerCall<Q, A> {
  private final MethodDescriptor<Q, A> method;
  private final CompletableFuture<A> answer = new CompletableFuture<>();
  private final Consumer<A> each;
  private @Nullable A message;

  InProcessCall(MethodDescriptor<Q, A> method, Consumer<A> each) {
    this.method = method;
    this.each = each;
  }

  /** Any thread may wait for it, or cancel it. */
  CompletableFuture<A> answer() {
    return answer;
  }

  @Override
  public void request(int messages) {
    // There is one, and it comes by itself.
  }

  @Override
  public void sendHeaders(Metadata headers) {
    // Nobody looks at them.
  }

  @Override
  public void sendMessage(A sent) {
    message = sent;
    each.accept(sent);
  }

  @Override
  public void close(Status status, Metadata trailers) {
    if (!status.isOk()) {
      answer.completeExceptionally(status.asRuntimeException());
    } else if (message == null) {
      answer.completeExceptionally(
          Status.INTERNAL.withDescription("it ended without an answer").asRuntimeException());
    } else {
      answer.complete(message);
    }
  }

  @Override
  public boolean isCancelled() {
    return answer.isCancelled();
  }

  @Override
  public MethodDescriptor<Q, A> getMethodDescriptor() {
    return method;
  }
}
