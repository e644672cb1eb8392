// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.dra;

import io.gpupool.control.v1.LeaseEvent;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.control.v1.PoolGrpc;
import io.grpc.ConnectivityState;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.Supplier;

/**
 * The streams that hold leases, a few hundred on each connection, since a server takes no more than
 * a thousand. Of the driver's thread, on which answers come, too.
 */
final class LeaseStreams implements AutoCloseable {
  private static final int STREAMS = 500;

  private final Supplier<ManagedChannel> connect;
  private final ScheduledExecutorService thread;
  private final List<Line> lines = new ArrayList<>();

  LeaseStreams(Supplier<ManagedChannel> connect, ScheduledExecutorService thread) {
    this.connect = connect;
    this.thread = thread;
  }

  ClaimLeases.Hold ask(LeaseRequest request, ClaimLeases.Answers answers) {
    Line line =
        lines.stream().filter(l -> l.streams < STREAMS).findFirst().orElseGet(this::newLine);
    // Else it would try to connect less and less often.
    if (line.channel.getState(false) == ConnectivityState.TRANSIENT_FAILURE) {
      line.channel.enterIdle();
    }
    line.streams++;
    Events events = new Events(line, answers);
    PoolGrpc.newStub(line.channel).withExecutor(thread).requestLease(request, events);
    return () -> events.call.cancel("no longer wanted", null);
  }

  private Line newLine() {
    Line line = new Line(connect.get());
    lines.add(line);
    return line;
  }

  @Override
  public void close() {
    lines.forEach(line -> line.channel.shutdownNow());
  }

  private static final class Line {
    private final ManagedChannel channel;
    private int streams;

    private Line(ManagedChannel channel) {
      this.channel = channel;
    }
  }

  private static final class Events implements ClientResponseObserver<LeaseRequest, LeaseEvent> {
    private final Line line;
    private final ClaimLeases.Answers answers;
    private ClientCallStreamObserver<LeaseRequest> call;
    private String last = "the pool has closed the request without an answer";

    private Events(Line line, ClaimLeases.Answers answers) {
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
        case GRANTED -> answers.granted(event.getGranted().getId());
        case REFUSED -> last = event.getRefused().getReason();
        case ENDED -> last = "the lease has ended: " + event.getEnded().getReason();
        case QUEUED, HELD, EVENT_NOT_SET -> {}
      }
    }

    @Override
    public void onError(Throwable failure) {
      line.streams--;
      Status status = Status.fromThrowable(failure);
      String text = status.getDescription() == null ? "" : status.getDescription();
      answers.failed(text.isEmpty() ? "the pool answers " + status.getCode() : text);
    }

    @Override
    public void onCompleted() {
      line.streams--;
      answers.failed(last);
    }
  }
}
