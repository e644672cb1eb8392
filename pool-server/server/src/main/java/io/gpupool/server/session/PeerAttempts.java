// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;

/**
 * The connections of one session's worker with the program's workers at other servers. Owned by the
 * control thread.
 */
final class PeerAttempts {
  /** So many connections a session may have with one worker within {@link #RECENT_MILLIS}. */
  static final int MAX_RECENT = 64;

  static final long RECENT_MILLIS = 10_000;
  private static final long NANOS_PER_MILLI = 1_000_000;

  private final Map<Integer, Link> links = new HashMap<>();

  private static final class Link {
    private final Deque<Long> recentNanos = new ArrayDeque<>();
    private long latest;
    private boolean isUnderWay;
  }

  /** Returns whether there is a connection with a link's worker, or was. */
  boolean contains(int link) {
    return links.containsKey(link);
  }

  /** Returns whether a link's worker has been connected too often lately. */
  boolean isExcessive(int link, long nowNanos) {
    Link known = links.get(link);
    if (known == null) {
      return false;
    }
    while (!known.recentNanos.isEmpty()
        && nowNanos - known.recentNanos.getFirst() >= RECENT_MILLIS * NANOS_PER_MILLI) {
      known.recentNanos.removeFirst();
    }
    return known.recentNanos.size() >= MAX_RECENT;
  }

  /** Takes note of another connection. */
  void note(int link, long nowNanos) {
    links.computeIfAbsent(link, of -> new Link()).recentNanos.addLast(nowNanos);
  }

  /** Begins to make a connection, in place of one that is being made; returns its number. */
  long begin(int link) {
    Link known = links.computeIfAbsent(link, of -> new Link());
    known.isUnderWay = true;
    return ++known.latest;
  }

  /** Ends the making of a connection; false if it has ended before, or a later one has begun. */
  boolean finish(int link, long number) {
    Link known = links.get(link);
    if (known == null || known.latest != number || !known.isUnderWay) {
      return false;
    }
    known.isUnderWay = false;
    return true;
  }
}
