// SPDX-License-Identifier: Apache-2.0
package io.gpupool.client.lease;

import io.gpupool.client.connection.PoolConnection;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.control.v1.PoolGrpc;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * Connections for calls that hold leases: one for every few hundred, since a server takes no more
 * than a thousand on one. Owned by the thread on which their answers come.
 */
public final class LeaseConnections implements AutoCloseable {
  private static final int MOST_CALLS = 500;

  private final Supplier<ManagedChannel> connect;
  private final Executor thread;
  private final LongSupplier nowNanos;
  private final List<Line> lines = new ArrayList<>();
  private boolean closed;

  /**
   * Connects nothing yet.
   *
   * @param connect makes a channel, which is closed with this
   * @param thread on which listeners are called, and which alone calls this
   */
  public LeaseConnections(
      Supplier<ManagedChannel> connect, Executor thread, LongSupplier nowNanos) {
    this.connect = connect;
    this.thread = thread;
    this.nowNanos = nowNanos;
  }

  /** Asks for a lease and holds it until the call is cancelled. */
  public LeaseEventCall<LeaseRequest> request(
      LeaseRequest request, LeaseEventStream.Listener listener) {
    Line line =
        lines.stream().filter(l -> l.calls < MOST_CALLS).findFirst().orElseGet(this::newLine);
    line.connection.retrySoon();
    line.calls++;
    LeaseEventCall<LeaseRequest> call =
        new LeaseEventCall<>(listener, () -> {}, status -> left(line, status));
    PoolGrpc.newStub(line.connection.channel()).withExecutor(thread).requestLease(request, call);
    return call;
  }

  private Line newLine() {
    Line line = new Line(new PoolConnection(connect.get(), nowNanos));
    lines.add(line);
    return line;
  }

  private void left(Line line, Status status) {
    line.calls--;
    if (status.getCode() == Status.Code.UNAVAILABLE) {
      line.connection.leaveServer();
    }
    if (line.calls == 0 && lines.size() > 1 && !closed) {
      lines.remove(line);
      line.connection.channel().shutdown();
    }
  }

  @Override
  public void close() {
    closed = true;
    lines.forEach(line -> line.connection.channel().shutdownNow());
  }

  /** A connection and the calls on it. */
  private static final class Line {
    private final PoolConnection connection;
    private int calls;

    private Line(PoolConnection connection) {
      this.connection = connection;
    }
  }
}
