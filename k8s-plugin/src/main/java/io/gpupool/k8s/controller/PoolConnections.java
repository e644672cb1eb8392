// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller;

import io.gpupool.control.v1.LeaseEvent;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.control.v1.PoolAdminGrpc;
import io.gpupool.control.v1.PoolGrpc;
import io.grpc.ConnectivityState;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Connections to the pool: one for calls, and one for every few hundred streams that hold leases,
 * since a server takes no more than a thousand on one. Owned by the controller's thread, on which
 * its answers come, too.
 */
final class PoolConnections {
  private static final int STREAMS = 500;
  private static final long CALL_SECONDS = 20;
  private static final int MAX_ANSWER_BYTES = 256 << 20;
  private static final long AFRESH_NANOS = Duration.ofSeconds(1).toNanos();

  private final Supplier<ManagedChannel> connect;
  private final Executor thread;
  private final Timers timers;
  private final List<Line> lines = new ArrayList<>();
  private final Line calls;
  private boolean closed;

  PoolConnections(Supplier<ManagedChannel> connect, Executor thread, Timers timers) {
    this.connect = connect;
    this.thread = thread;
    this.timers = timers;
    calls = new Line(connect.get());
  }

  /** For one call. */
  PoolGrpc.PoolStub pool() {
    calls.connectAfresh();
    return PoolGrpc.newStub(calls.channel)
        .withExecutor(thread)
        .withMaxInboundMessageSize(MAX_ANSWER_BYTES)
        .withDeadlineAfter(CALL_SECONDS, TimeUnit.SECONDS);
  }

  /** For one call. */
  PoolAdminGrpc.PoolAdminStub admin() {
    calls.connectAfresh();
    return PoolAdminGrpc.newStub(calls.channel)
        .withExecutor(thread)
        .withMaxInboundMessageSize(MAX_ANSWER_BYTES)
        .withDeadlineAfter(CALL_SECONDS, TimeUnit.SECONDS);
  }

  /** Asks for a lease and holds it. */
  LeasePool.Stream ask(LeaseRequest request, LeasePool.Answers answers) {
    Line line = line();
    line.connectAfresh();
    Events events = new Events(line, answers);
    line.streams++;
    PoolGrpc.newStub(line.channel).withExecutor(thread).requestLease(request, events);
    return () -> events.call.cancel("no longer wanted", null);
  }

  private Line line() {
    for (Line line : lines) {
      if (line.streams < STREAMS) {
        return line;
      }
    }
    Line line = new Line(connect.get());
    lines.add(line);
    return line;
  }

  private void left(Line line) {
    line.streams--;
    if (line.streams == 0 && lines.size() > 1 && !closed) {
      lines.remove(line);
      line.channel.shutdown();
    }
  }

  /** An answer that is one message. */
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

  static String text(Status status) {
    String text = status.getDescription() == null ? "" : status.getDescription();
    String cause = status.getCause() == null ? "" : " (" + status.getCause().getMessage() + ")";
    return text.isEmpty() ? status.getCode() + cause : text + cause;
  }

  void close() {
    closed = true;
    calls.channel.shutdownNow();
    lines.forEach(line -> line.channel.shutdownNow());
  }

  /** A connection. */
  private final class Line {
    private final ManagedChannel channel;
    private int streams;
    private long afreshAtNanos = timers.nowNanos() - AFRESH_NANOS;

    private Line(ManagedChannel channel) {
      this.channel = channel;
    }

    /** Has it try to connect at once, however often that has failed before. */
    private void connectAfresh() {
      if (channel.getState(false) == ConnectivityState.TRANSIENT_FAILURE) {
        elsewhere();
      }
    }

    /** Has the next call choose a server again. */
    private void elsewhere() {
      if (timers.nowNanos() - afreshAtNanos >= AFRESH_NANOS) {
        afreshAtNanos = timers.nowNanos();
        channel.enterIdle();
      }
    }
  }

  /** A stream. */
  private final class Events implements ClientResponseObserver<LeaseRequest, LeaseEvent> {
    private final Line line;
    private final LeasePool.Answers answers;
    private ClientCallStreamObserver<LeaseRequest> call;

    private Events(Line line, LeasePool.Answers answers) {
      this.line = line;
      this.answers = answers;
    }

    @Override
    public void beforeStart(ClientCallStreamObserver<LeaseRequest> stream) {
      call = stream;
    }

    @Override
    public void onNext(LeaseEvent event) {
      switch (event.getEventCase()) {
        case QUEUED ->
            answers.queued(event.getQueued().getPosition(), event.getQueued().getReason());
        case GRANTED -> answers.granted(event.getGranted());
        case REFUSED ->
            answers.refused(event.getRefused().getCause(), event.getRefused().getReason());
        case ENDED -> answers.ended(event.getEnded().getReason());
        case HELD, EVENT_NOT_SET -> {}
      }
    }

    @Override
    public void onError(Throwable failure) {
      left(line);
      Status status = Status.fromThrowable(failure);
      if (status.getCode() == Status.Code.UNAVAILABLE) {
        line.elsewhere();
      }
      answers.broken(text(status));
    }

    @Override
    public void onCompleted() {
      left(line);
      answers.broken("it has closed the request without an answer");
    }
  }
}
