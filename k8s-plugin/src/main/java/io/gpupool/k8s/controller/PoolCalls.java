// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller;

import io.gpupool.client.connection.PoolConnection;
import io.gpupool.client.lease.LeaseConnections;
import io.gpupool.client.lease.LeaseEventCall;
import io.gpupool.client.lease.LeaseEventStream;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.control.v1.ListRequest;
import io.gpupool.control.v1.ListSessionsReply;
import io.gpupool.control.v1.PoolAdminGrpc;
import io.gpupool.control.v1.PoolGrpc;
import io.gpupool.k8s.controller.lease.LeasePool;
import io.gpupool.runtime.Timers;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Calls to the pool: a connection for those that are answered at once, and others for those that
 * hold leases. Owned by the controller's thread, on which answers come, too.
 */
final class PoolCalls {
  private static final long CALL_SECONDS = 20;
  private static final int MAX_ANSWER_BYTES = 256 << 20;

  private final Executor thread;
  private final PoolConnection connection;
  private final LeaseConnections leases;

  PoolCalls(Supplier<ManagedChannel> connect, Executor thread, Timers timers) {
    this.thread = thread;
    connection = new PoolConnection(connect.get(), timers::nowNanos);
    leases = new LeaseConnections(connect, thread, timers::nowNanos);
  }

  /** Returns a stub for one call. */
  PoolGrpc.PoolStub pool() {
    connection.retrySoon();
    return PoolGrpc.newStub(connection.channel())
        .withExecutor(thread)
        .withMaxInboundMessageSize(MAX_ANSWER_BYTES)
        .withDeadlineAfter(CALL_SECONDS, TimeUnit.SECONDS);
  }

  /** Returns a stub for one call of an admin. */
  PoolAdminGrpc.PoolAdminStub admin() {
    connection.retrySoon();
    return PoolAdminGrpc.newStub(connection.channel())
        .withExecutor(thread)
        .withMaxInboundMessageSize(MAX_ANSWER_BYTES)
        .withDeadlineAfter(CALL_SECONDS, TimeUnit.SECONDS);
  }

  /** Lists the sessions whose connection is lost. */
  void listDisconnected(StreamObserver<ListSessionsReply> answer) {
    pool().listSessions(ListRequest.newBuilder().setDisconnected(true).build(), answer);
  }

  /** Asks for a lease and holds it. */
  LeasePool.Stream ask(LeaseRequest request, LeaseEventStream.Listener listener) {
    LeaseEventCall<LeaseRequest> call = leases.request(request, listener);
    return () -> call.cancel("no longer wanted");
  }

  /** Returns an observer of an answer that is one message. */
  static <T> StreamObserver<T> answer(Consumer<T> answered, Consumer<Status> failed) {
    return new StreamObserver<>() {
      @Override
      public void onNext(T reply) {
        answered.accept(reply);
      }

      @Override
      public void onError(Throwable failure) {
        failed.accept(Status.fromThrowable(failure));
      }

      @Override
      public void onCompleted() {}
    };
  }

  void close() {
    connection.channel().shutdownNow();
    leases.close();
  }
}
