// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.assignment;

import io.gpupool.wire.TextMessage;
import io.gpupool.worker.control.ControlLink;
import io.gpupool.worker.move.MoveSource;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.session.Session;
import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The departure of this worker's session, if one is under way. Any thread may use it. */
final class SessionMove {
  private final ControlLink control;
  private @Nullable MoveSource source;
  private String id = "";

  /** Whether the session is paused, and waits for the decision. */
  private boolean paused;

  SessionMove(ControlLink control) {
    this.control = control;
  }

  /**
   * Begins a departure.
   *
   * @param newId the name of the move
   * @param memoryBases where the memory of each GPU of the session begins
   * @param fd a socket to the worker that the session goes to
   */
  synchronized void begin(
      String newId, Session session, List<Long> memoryBases, int fd, MoveSource.Manner manner) {
    if (source != null) {
      Posix.close(fd);
      failed(newId, "another move is under way");
      return;
    }
    id = newId;
    MoveSource begun = new MoveSource(session, memoryBases, fd, manner, new Reports(newId));
    source = begun;
    Thread.ofPlatform().name("move").daemon().start(begun::run);
  }

  /** Decides where the session goes on. */
  synchronized void decide(String decidedId, boolean gone) {
    if (source != null && id.equals(decidedId)) {
      source.decide(gone);
      if (!gone) {
        source = null;
        paused = false;
      }
    }
  }

  /** Puts into a message that the session waits for a decision, if it does. */
  synchronized void describe(TextMessage.Builder message) {
    if (paused) {
      message.put("move", id);
    }
  }

  private boolean isUnderWay(String move) {
    return source != null && id.equals(move);
  }

  /** The reports of one departure, which may come when the next one is under way. */
  private final class Reports implements MoveSource.Reports {
    private final String move;

    Reports(String move) {
      this.move = move;
    }

    @Override
    public void moved(long bytes, long pauseNanos) {
      synchronized (SessionMove.this) {
        if (isUnderWay(move)) {
          paused = true;
          send(
              TextMessage.ofType("moved")
                  .put("move", move)
                  .put("bytes", bytes)
                  .put("pauseNanos", pauseNanos));
        }
      }
    }

    @Override
    public void failed(String reason) {
      synchronized (SessionMove.this) {
        if (isUnderWay(move)) {
          source = null;
          paused = false;
        }
        SessionMove.this.failed(move, reason);
      }
    }
  }

  private void failed(String failedId, String reason) {
    send(TextMessage.ofType("moveFailed").put("move", failedId).put("reason", reason));
  }

  private void send(TextMessage.Builder message) {
    try {
      control.send(message.build());
    } catch (IOException e) {
      // The next server asks, or is told when it claims the worker.
    }
  }
}
