// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.inprocess;

import io.grpc.Context;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.ServerCall;
import io.grpc.ServerMethodDefinition;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A caller of gRPC services without a connection. Calls go through the same interceptors, on the
 * threads that run the services. For any thread.
 */
public final class InProcessStub implements PoolStub {
  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);
  private static final Logger LOG = LoggerFactory.getLogger(InProcessStub.class);

  private final Function<MethodDescriptor<?, ?>, Executor> threads;
  private final Map<String, ServerMethodDefinition<?, ?>> methods = new HashMap<>();

  /**
   * Of these services.
   *
   * @param threads on which a method is called
   * @param services with their interceptors
   */
  public InProcessStub(
      Function<MethodDescriptor<?, ?>, Executor> threads, List<ServerServiceDefinition> services) {
    this.threads = threads;
    for (ServerServiceDefinition service : services) {
      for (ServerMethodDefinition<?, ?> method : service.getMethods()) {
        methods.put(method.getMethodDescriptor().getFullMethodName(), method);
      }
    }
  }

  @Override
  public <Q, A> CompletableFuture<A> call(
      MethodDescriptor<Q, A> method, @Nullable String token, Q request, Consumer<A> each) {
    // The descriptors are equal, so are their types.
    @SuppressWarnings("unchecked")
    ServerMethodDefinition<Q, A> served =
        (ServerMethodDefinition<Q, A>) methods.get(method.getFullMethodName());
    if (served == null) {
      return CompletableFuture.failedFuture(Status.UNIMPLEMENTED.asRuntimeException());
    }
    Metadata headers = new Metadata();
    if (token != null) {
      headers.put(AUTHORIZATION, "Bearer " + token);
    }
    InProcessCall<Q, A> call = new InProcessCall<>(method, each);
    Executor thread = threads.apply(method);
    thread.execute(() -> Context.ROOT.run(() -> start(served, call, headers, request, thread)));
    return call.answer();
  }

  private <Q, A> void start(
      ServerMethodDefinition<Q, A> method,
      InProcessCall<Q, A> call,
      Metadata headers,
      Q request,
      Executor thread) {
    try {
      ServerCall.Listener<Q> listener = method.getServerCallHandler().startCall(call, headers);
      listener.onReady();
      listener.onMessage(request);
      listener.onHalfClose();
      call.answer()
          .whenComplete((answer, failure) -> {
            if (call.answer().isCancelled()) {
              thread.execute(listener::onCancel);
            }
          });
    } catch (RuntimeException e) {
      LOG.error("{} failed", method.getMethodDescriptor().getFullMethodName(), e);
      call.close(
          Status.INTERNAL.withDescription("the server has failed; its log says how"), headers);
    }
  }
}
