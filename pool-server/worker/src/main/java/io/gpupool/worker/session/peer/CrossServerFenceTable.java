// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.peer;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.worker.session.core.ContextState;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Table of the fences that have arrived and are not awaited yet, and of those that are. For any
 * thread.
 */
final class CrossServerFenceTable {
  private static final int MAX_KEPT = 1 << 20;

  @GuardedBy("this")
  private final Map<Long, Awaited> awaited = new HashMap<>();

  @GuardedBy("this")
  private final Map<Long, Integer> come = new HashMap<>();

  /** A ticket that a stream waits for, or will. */
  static final class Awaited {
    final ContextState context;
    final int link;

    @GuardedBy("this")
    private @Nullable Runnable open;

    @GuardedBy("this")
    private boolean over;

    private Awaited(ContextState context, int link) {
      this.context = context;
      this.link = link;
    }

    /** The stream has come to its gate. */
    void arrived(Runnable openGate) {
      boolean atOnce;
      synchronized (this) {
        atOnce = over;
        open = openGate;
      }
      if (atOnce) {
        openGate.run();
      }
    }

    /** The stream may go on. */
    void end() {
      Runnable action;
      synchronized (this) {
        action = over ? null : open;
        over = true;
      }
      if (action != null) {
        action.run();
      }
    }
  }

  /** Returns the ticket that a stream has to wait for; null if it has come. */
  synchronized @Nullable Awaited await(long ticket, ContextState context, int link) {
    if (come.remove(ticket) != null) {
      return null;
    }
    Awaited wait = new Awaited(context, link);
    awaited.put(ticket, wait);
    return wait;
  }

  /** A ticket has come; false if it had before, or too many are kept. */
  boolean come(long ticket, int link) {
    Awaited wait;
    synchronized (this) {
      wait = awaited.remove(ticket);
      if (wait == null && (come.size() >= MAX_KEPT || come.put(ticket, link) != null)) {
        return false;
      }
    }
    if (wait != null) {
      wait.end();
    }
    return true;
  }

  /** Lets the streams of a context pass; all streams, when it is null. */
  void cancel(@Nullable ContextState context) {
    List<Awaited> gone;
    synchronized (this) {
      gone =
          awaited.values().stream()
              .filter(wait -> context == null || wait.context == context)
              .toList();
      awaited.values().removeAll(gone);
    }
    gone.forEach(Awaited::end);
  }

  synchronized boolean awaits(int link) {
    return awaited.values().stream().anyMatch(wait -> wait.link == link);
  }
}
