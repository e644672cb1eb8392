// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.tenant;

import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * Wrong tokens by the address that showed them. Whoever shows many is answered late, a few at a
 * time, so that guessing is slow and waiting guesses cost little; right tokens are never delayed.
 * For any thread.
 */
public final class WrongTokens {
  /** How late the answer is. */
  public static final long DELAY_MILLIS = 100;

  private static final int FREE_OF_DELAY = 60;
  private static final int MAX_LATE = 32;
  private static final int MAX_ADDRESSES = 4096;
  private static final long FORGET_NANOS = TimeUnit.MINUTES.toNanos(1);

  /** Those that showed one longest ago are forgotten first. */
  private final Map<Object, Wrong> wrong =
      new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Object, Wrong> eldest) {
          return size() > MAX_ADDRESSES;
        }
      };

  private int late;

  private record Wrong(int count, long sinceNanos) {}

  /** What is to become of the answer to a wrong token. */
  public enum Answer {
    NOW,
    /** After {@link #DELAY_MILLIS}, and then {@link #answered}. */
    LATE,
    /** Now, and without a look at what else may be wrong: there are many. */
    TOO_MANY
  }

  /** Notes a wrong token. */
  public synchronized Answer note(Optional<SocketAddress> from, long nowNanos) {
    Object key =
        from.<Object>map(
                address -> address instanceof InetSocketAddress inet ? inet.getAddress() : address)
            .orElse("");
    Wrong before = wrong.get(key);
    boolean again = before != null && nowNanos - before.sinceNanos < FORGET_NANOS;
    Wrong now = again ? new Wrong(before.count + 1, before.sinceNanos) : new Wrong(1, nowNanos);
    wrong.put(key, now);
    if (now.count <= FREE_OF_DELAY) {
      return Answer.NOW;
    }
    if (late >= MAX_LATE) {
      return Answer.TOO_MANY;
    }
    late++;
    return Answer.LATE;
  }

  /** A late answer has been given. */
  public synchronized void answered() {
    late--;
  }
}
