// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.peer;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.worker.os.Posix;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The connections to one other worker as they come, and the requests for them by the worker that
 * has to ask. One thread awaits them; any thread may offer one.
 */
final class PeerArrivals {
  private static final long FIRST_PAUSE_MILLIS = 100;
  private static final long LONGEST_PAUSE_MILLIS = 1000;

  private final long windowMillis;

  /** Asks for a connection, at first already done; null: the other worker does. */
  private final @Nullable Runnable dial;

  @GuardedBy("this")
  private @Nullable Arrival offered;

  @GuardedBy("this")
  private boolean asked = true;

  @GuardedBy("this")
  private long pauseMillis = FIRST_PAUSE_MILLIS;

  @GuardedBy("this")
  private long nextDialNanos;

  /** When the connection was lost, or could not be made at first; 0: it is not missed. */
  @GuardedBy("this")
  private long lostNanos;

  @GuardedBy("this")
  private String cause = "";

  /** Why no connection will come. */
  @GuardedBy("this")
  private @Nullable String reason;

  /**
   * A connected socket.
   *
   * @param random bytes that nobody knows; empty if the connection cannot be resumed
   * @param position up to which the other worker has everything; -1: it has not told
   */
  record Arrival(int fd, byte[] random, long position) {}

  /**
   * Begins to wait.
   *
   * @param windowMillis how long a lost connection is missed; 0: there is no other
   */
  PeerArrivals(long windowMillis, @Nullable Runnable dial) {
    this.windowMillis = windowMillis;
    this.dial = dial;
  }

  /** Offers a connection, which takes the place of one that nobody has taken yet. */
  synchronized void offer(Arrival arrival) {
    if (offered != null) {
      Posix.close(offered.fd);
      offered = null;
    }
    if (reason != null) {
      Posix.close(arrival.fd);
    } else {
      offered = arrival;
      notifyAll();
    }
  }

  /**
   * There is no connection.
   *
   * @param again whether there may be one later
   */
  synchronized void refuse(String why, boolean again) {
    if (again && windowMillis > 0) {
      missed(why);
    } else {
      end(why);
    }
  }

  /** The connection is lost, or an attempt to begin one has failed. */
  synchronized void missed(String why) {
    if (windowMillis == 0) {
      end(why);
      return;
    }
    long nowNanos = System.nanoTime();
    if (lostNanos == 0) {
      lostNanos = nowNanos;
      cause = why;
      pauseMillis = FIRST_PAUSE_MILLIS;
      // The first attempt after a loss comes at once.
      nextDialNanos = nowNanos + (asked ? TimeUnit.MILLISECONDS.toNanos(pauseMillis) : 0);
    } else {
      nextDialNanos = nowNanos + TimeUnit.MILLISECONDS.toNanos(pauseMillis);
      pauseMillis = Math.min(2 * pauseMillis, LONGEST_PAUSE_MILLIS);
    }
    asked = false;
    notifyAll();
  }

  /** The connection goes on where the last one ended. */
  synchronized void resumed() {
    lostNanos = 0;
    asked = false;
  }

  /** No connection is wanted any more. */
  synchronized void end(String why) {
    reason = reason == null ? why : reason;
    if (offered != null) {
      Posix.close(offered.fd);
      offered = null;
    }
    notifyAll();
  }

  /** Returns why no connection will come. */
  synchronized String reason() {
    return reason == null ? "" : reason;
  }

  /** Waits for the next connection, and asks for it; null: none will come. */
  @Nullable Arrival await() {
    while (true) {
      Runnable action;
      synchronized (this) {
        Arrival taken = awaitStep();
        if (taken != null || reason != null) {
          offered = null;
          return taken;
        }
        action = dial;
        asked = true;
      }
      if (action != null) {
        action.run();
      }
    }
  }

  /** Waits until there is a connection, a reason for none, or it is time to ask for one. */
  @GuardedBy("this")
  private @Nullable Arrival awaitStep() {
    while (offered == null && reason == null) {
      long nowNanos = System.nanoTime();
      long waitNanos = Long.MAX_VALUE;
      if (lostNanos != 0) {
        waitNanos = lostNanos + TimeUnit.MILLISECONDS.toNanos(windowMillis) - nowNanos;
        if (waitNanos <= 0) {
          end(over(nowNanos));
          return null;
        }
      }
      if (dial != null && !asked) {
        if (nextDialNanos - nowNanos <= 0) {
          return null;
        }
        waitNanos = Math.min(waitNanos, nextDialNanos - nowNanos);
      }
      pause(waitNanos);
    }
    return offered;
  }

  @GuardedBy("this")
  private String over(long nowNanos) {
    return cause
        + " "
        + TimeUnit.NANOSECONDS.toSeconds(nowNanos - lostNanos)
        + " s ago, and it did not come back within the resume window of "
        + windowMillis / 1000
        + " s";
  }

  @GuardedBy("this")
  private void pause(long nanos) {
    try {
      if (nanos == Long.MAX_VALUE) {
        wait();
      } else {
        wait(1 + TimeUnit.NANOSECONDS.toMillis(nanos));
      }
    } catch (InterruptedException e) {
      throw new IllegalStateException("a thread that awaits a connection was interrupted", e);
    }
  }
}
