// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import io.gpupool.runtime.Timers;
import io.gpupool.server.identity.HolderName;
import io.gpupool.server.stream.CallStream;
import io.gpupool.server.worker.Worker;
import io.gpupool.server.worker.WorkerSession;
import io.gpupool.server.worker.WorkerStartQueue;
import io.gpupool.transport.Detaching;
import io.gpupool.wire.ServerHello;
import io.gpupool.wire.SessionId;
import io.gpupool.wire.TextMessage;
import io.netty.channel.unix.FileDescriptor;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A session that moves here, until its lease has moved: a worker restores it, and it executes
 * nothing. Owned by the control thread.
 */
final class ArrivingSession implements WorkerSession {
  private static final TextMessage RESTORE = TextMessage.ofType("restore").build();
  private static final TextMessage RESTORED = TextMessage.ofType("restored").build();
  private static final Logger LOG = LoggerFactory.getLogger(ArrivingSession.class);

  private final Session session;
  private final Executor control;
  private final Runnable onRestored;
  private final Consumer<String> onFailure;
  private Timers.Cancellable start = () -> {};

  /** Of the source's worker, until it is answered. */
  private @Nullable CallStream stream;

  private boolean isOver;

  /**
   * Begins nothing yet.
   *
   * @param onRestored runs when its worker has restored it
   * @param onFailure takes the reason why it cannot come, at most once
   */
  ArrivingSession(
      Session session,
      CallStream stream,
      Executor control,
      Runnable onRestored,
      Consumer<String> onFailure) {
    this.session = session;
    this.stream = stream;
    this.control = control;
    this.onRestored = onRestored;
    this.onFailure = onFailure;
  }

  SessionId id() {
    return session.id();
  }

  /** Takes a worker, and hands it the connection. */
  void begin(WorkerStartQueue starts, int version) {
    start =
        starts.take(
            session.lease().tenant(),
            session.program().environment(),
            taken -> assign(taken, version));
  }

  private void assign(Worker taken, int version) {
    session.assign(taken, this, true);
    taken.whenLinked(() -> {
      CallStream answered = stream;
      stream = null;
      if (answered != null && !isOver) {
        answered
            .accept(ServerHello.accepted(version), true)
            .whenComplete((taking, failure) -> control.execute(() -> hand(taking, failure)));
      }
    });
  }

  private void hand(@Nullable FileDescriptor connection, @Nullable Throwable failure) {
    if (connection == null) {
      failed("the connection broke: " + (failure == null ? "no reason" : failure.getMessage()));
    } else if (isOver) {
      Detaching.closeQuietly(connection);
    } else {
      session.worker().send(RESTORE, connection);
    }
  }

  @Override
  public void onMessage(TextMessage message) {
    switch (message.type()) {
      case "restored" -> {
        LOG.debug("lease {} session {} is restored", session.lease().id(), id().brief());
        if (!isOver) {
          // The server's next process goes on with it, or kills its worker, as the lease has moved
          // by then or has not.
          session.record();
          session.worker().send(RESTORED);
          onRestored.run();
        }
      }
      case "ended" ->
          failed(HolderName.plain(message.get("reason").orElse("its worker cannot restore it")));
      default -> session.onMessage(message);
    }
  }

  /** Notes that it cannot come, unless it has come or was given up. */
  void failed(String reason) {
    if (!isOver) {
      isOver = true;
      onFailure.accept(reason);
    }
  }

  @Override
  public void workerExited(@Nullable Integer status) {
    refuse("its worker has died");
    session.workerExited(status);
  }

  @Override
  public void end(String reason) {
    isOver = true;
    start.cancel();
    refuse(reason);
    session.end(reason);
  }

  @Override
  public void outliveServer(Runnable leave) {
    end("the server is stopping");
  }

  private void refuse(String reason) {
    if (stream != null) {
      stream.refuse(ServerHello.refused(ServerHello.BAD_SESSION, reason));
      stream = null;
    }
  }

  /**
   * Goes on as a session of this server.
   *
   * @param cause for which its program has to come back
   */
  void complete(Sessions sessions, String cause) {
    isOver = true;
    sessions.add(session);
    session.arrive(cause);
    // Its resume window begins now, however long it has waited for this.
    session.worker().send(RESTORED);
  }
}
