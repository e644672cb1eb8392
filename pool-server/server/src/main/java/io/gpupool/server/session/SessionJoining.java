// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import io.gpupool.runtime.Timers;
import io.gpupool.server.stream.CallStream;
import io.gpupool.server.worker.Worker;
import io.gpupool.server.worker.WorkerStartQueue;
import io.gpupool.wire.DriverEnvironment;
import io.gpupool.wire.ServerHello;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The wait of a session for its program, and for a worker once the program has connected. Owned by
 * the control thread.
 */
final class SessionJoining {
  /** How long a program has to connect after its session was opened. */
  static final long CONNECT_LIMIT_MILLIS = 15_000;

  /** How long it waits for others' workers to start; a program waits a little longer. */
  private static final long START_LIMIT_MILLIS = 60_000;

  private final WorkerStartQueue starts;
  private final Timers timers;

  /** Wait until the program is connected, or never will be. */
  private final List<Runnable> onJoined = new ArrayList<>();

  private Timers.Cancellable limit = () -> {};
  private Timers.Cancellable start = () -> {};
  private @Nullable CallStream stream;
  private boolean answering;

  SessionJoining(WorkerStartQueue starts, Timers timers) {
    this.starts = starts;
    this.timers = timers;
  }

  /** Waits for the program. */
  void awaitProgram(Consumer<String> onLimit) {
    limit = timers.after(CONNECT_LIMIT_MILLIS, () -> onLimit.accept("its program never connected"));
  }

  /**
   * Waits for a worker, as the program has connected.
   *
   * @param environment what the worker's driver is to find
   */
  void awaitWorker(
      CallStream connected,
      String tenant,
      DriverEnvironment environment,
      Consumer<Worker> onWorker,
      Consumer<String> onLimit) {
    stream = connected;
    limit.cancel();
    limit =
        timers.after(
            START_LIMIT_MILLIS,
            () -> onLimit.accept("no worker could be started for it; try again later"));
    start =
        starts.take(
            tenant,
            environment,
            taken -> {
              limit.cancel();
              onWorker.accept(taken);
            });
  }

  /** Runs once it is certain whether the program is connected. */
  void whenOver(Runnable action) {
    onJoined.add(action);
  }

  /** Hands over the connection, which is answered from now on. */
  void answered() {
    stream = null;
    answering = true;
  }

  /** Notes that the program is connected. */
  void over() {
    answering = false;
    List<Runnable> actions = List.copyOf(onJoined);
    onJoined.clear();
    actions.forEach(Runnable::run);
  }

  /**
   * Sends a program that waits for a worker to the server's next process.
   *
   * @param action runs when it is certain that the program is connected, or that it is not
   */
  void serverStops(Runnable action) {
    refuse(ServerHello.BUSY, "the server is stopping; try again when it has started");
    if (answering) {
      whenOver(action);
    } else {
      action.run();
    }
  }

  /** Gives up: the program will never be connected, unless it is already. */
  void end(String reason) {
    refuse(ServerHello.INTERNAL, reason);
    over();
    limit.cancel();
    start.cancel();
  }

  private void refuse(int status, String reason) {
    if (stream != null) {
      stream.refuse(ServerHello.refused(status, reason));
      stream = null;
    }
  }
}
