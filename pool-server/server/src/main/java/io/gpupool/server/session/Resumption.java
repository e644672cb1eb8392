// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import io.gpupool.runtime.Timers;
import io.gpupool.server.identity.Principal;
import io.gpupool.wire.ElapsedTime;
import io.gpupool.wire.SealSecret;
import io.gpupool.wire.SessionKey;
import java.security.SecureRandom;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The resumption of one session: its resume window, the key to its next connection, and the cut
 * that it has not recovered from yet. Owned by the control thread.
 */
final class Resumption {
  /** How long a resume key opens a connection. */
  static final long KEY_LIMIT_MILLIS = 10_000;

  /** So many resumptions a session may have within {@link #RECENT_MILLIS}. */
  static final int MAX_RECENT = 64;

  static final long RECENT_MILLIS = 10_000;

  /** How long a worker has to end itself after the window, before the server does. */
  static final long WORKER_LIMIT_MILLIS = 300;

  /** The same for one that has a connection to turn to, once its call of the driver is over. */
  static final long BUSY_WORKER_LIMIT_MILLIS = 5000;

  /** The reason for the end of a session with more. */
  static final String TOO_MANY =
      "it was resumed more than " + MAX_RECENT + " times within " + RECENT_MILLIS / 1000 + " s";

  private static final long NANOS_PER_MILLI = 1_000_000;

  private final long windowMillis;
  private final Timers timers;
  private final Deque<Long> recentNanos = new ArrayDeque<>();
  private @Nullable Key key;
  private @Nullable Cut cut;
  private boolean isKeptOpen;
  private Timers.Cancellable limit = () -> {};

  /**
   * The key to the next connection, and the caller that asked for it.
   *
   * @param secret with which the connection is sealed; null: it is not
   */
  record Key(SessionKey key, Principal caller, long madeAtNanos, @Nullable SealSecret secret) {}

  /** The loss of a connection. */
  private record Cut(long atNanos, String cause) {}

  /**
   * Begins without a cut.
   *
   * @param windowMillis how long the session outlives its connection; 0: not at all
   */
  Resumption(long windowMillis, Timers timers) {
    this.windowMillis = windowMillis;
    this.timers = timers;
  }

  long windowMillis() {
    return windowMillis;
  }

  /** Returns whether the session outlives its connection. */
  boolean isPossible() {
    return windowMillis > 0;
  }

  /**
   * Makes the key to the next connection, in place of an earlier one; empty: there are too many.
   */
  Optional<SessionKey> nextKey(SecureRandom random, Principal caller) {
    long nowNanos = timers.nowNanos();
    while (!recentNanos.isEmpty()
        && nowNanos - recentNanos.getFirst() >= RECENT_MILLIS * NANOS_PER_MILLI) {
      recentNanos.removeFirst();
    }
    if (recentNanos.size() >= MAX_RECENT) {
      key = null;
      return Optional.empty();
    }
    recentNanos.addLast(nowNanos);
    key = new Key(SessionKey.random(random), caller, nowNanos, null);
    return Optional.of(key.key());
  }

  /** Has the connection that the latest key opens sealed. */
  void seal(SealSecret secret) {
    if (key != null) {
      key = new Key(key.key(), key.caller(), key.madeAtNanos(), secret);
    }
  }

  /** Uses up the key. Returns it with its caller; empty: it is not the right one, or too old. */
  Optional<Key> consume(SessionKey shown) {
    Key right = key;
    if (right == null
        || !right.key().matches(shown)
        || timers.nowNanos() - right.madeAtNanos() >= KEY_LIMIT_MILLIS * NANOS_PER_MILLI) {
      return Optional.empty();
    }
    key = null;
    return Optional.of(right);
  }

  /**
   * Notes that the connection is lost.
   *
   * @param onLimit takes the reason for the end, if the worker has not ended itself in time
   */
  void lost(String cause, Consumer<String> onLimit) {
    lost(cause, onLimit, 0);
  }

  /** The same for a connection that has been lost for some time. */
  void lost(String cause, Consumer<String> onLimit, long forMillis) {
    long millis = Math.min(forMillis, windowMillis);
    cut = new Cut(timers.nowNanos() - millis * NANOS_PER_MILLI, cause);
    endAfter(windowMillis - millis + WORKER_LIMIT_MILLIS, onLimit);
  }

  /** Notes that the worker has been given another connection. */
  void offered(Consumer<String> onLimit) {
    millisLeft().ifPresent(left -> endAfter(left + BUSY_WORKER_LIMIT_MILLIS, onLimit));
  }

  /** Has the window not end, or has it begin anew if the connection is lost. */
  void keepOpen(boolean open, Consumer<String> onLimit) {
    isKeptOpen = open;
    Cut lost = cut;
    if (open) {
      limit.cancel();
    } else if (lost != null) {
      lost(lost.cause(), onLimit);
    }
  }

  private void endAfter(long millis, Consumer<String> onLimit) {
    limit.cancel();
    if (!isKeptOpen) {
      limit = timers.after(millis, () -> onLimit.accept(missed()));
    }
  }

  /** Notes that there is a connection, or no session any more. */
  void over() {
    cut = null;
    limit.cancel();
  }

  /** Returns how much of the window is left; empty: the session has its connection. */
  Optional<Long> millisLeft() {
    return cut == null
        ? Optional.empty()
        : Optional.of(Math.max(0, windowMillis - millisSince(cut)));
  }

  /** Returns the time since the connection was lost. */
  ElapsedTime lostFor() {
    return new ElapsedTime(cut == null ? 0 : millisSince(cut));
  }

  private String missed() {
    return "its connection was lost "
        + (cut == null ? 0 : millisSince(cut) / 1000)
        + " s ago ("
        + (cut == null ? "" : cut.cause())
        + ") and did not come back within its resume window of "
        + windowMillis / 1000
        + " s";
  }

  private long millisSince(Cut past) {
    return (timers.nowNanos() - past.atNanos()) / NANOS_PER_MILLI;
  }
}
