// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.assignment;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.wire.TextMessage;
import io.gpupool.worker.control.ControlLink;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The reports of a session to its server, for any thread. A report that finds no server is dropped:
 * a later server hears of the state as it is then.
 */
final class SessionReports {
  private static final long STATS_MILLIS = 1000;

  private final ControlLink control;
  private volatile @Nullable Loss loss;

  @GuardedBy("this")
  private boolean wanted;

  /** The program's connection is gone since some time, for a reason. */
  private record Loss(String reason, long sinceNanos) {}

  SessionReports(ControlLink control) {
    this.control = control;
  }

  void disconnected(String reason) {
    loss = new Loss(reason, System.nanoTime());
    send(TextMessage.ofType("disconnected").put("reason", reason).build());
  }

  /** The session has come from another worker, and its program has yet to connect. */
  void arrived(String session) {
    loss = new Loss("it has come from another GPU", System.nanoTime());
    send(TextMessage.ofType("restored").put("session", session).build());
  }

  void resumed() {
    loss = null;
    send(TextMessage.ofType("resumed").build());
  }

  void ended(String reason) {
    send(TextMessage.ofType("ended").put("reason", reason).build());
  }

  /** Puts the present state into a message. */
  void describe(TextMessage.Builder message) {
    Loss present = loss;
    if (present == null) {
      message.put("state", "attached");
      return;
    }
    long goneNanos = System.nanoTime() - present.sinceNanos;
    message
        .put("state", "disconnected")
        .put("gone", TimeUnit.NANOSECONDS.toMillis(goneNanos))
        .put("reason", present.reason);
  }

  /** Reports what is counted, about once a second, when it has changed. */
  void count(Supplier<TextMessage> stats) {
    Thread.ofPlatform().name("stats").daemon().start(() -> run(stats));
  }

  /** Reports what is counted at once, changed or not. */
  synchronized void countAgain() {
    wanted = true;
    notifyAll();
  }

  private void run(Supplier<TextMessage> statsNow) {
    TextMessage last = null;
    try {
      while (true) {
        boolean again = pause();
        TextMessage stats = statsNow.get();
        if (again || !stats.equals(last)) {
          send(stats);
          last = stats;
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Returns whether the counters are wanted whatever they are. */
  private synchronized boolean pause() throws InterruptedException {
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(STATS_MILLIS);
    long left = STATS_MILLIS;
    while (!wanted && left > 0) {
      wait(left);
      left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
    }
    boolean again = wanted;
    wanted = false;
    return again;
  }

  private void send(TextMessage message) {
    try {
      control.send(message);
    } catch (IOException e) {
      // There is no server: the process ends, or a later one takes it over.
    }
  }
}
