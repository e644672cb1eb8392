// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import io.gpupool.runtime.Timers;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.takeover.SessionRecord;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

/**
 * The past of a session.
 *
 * @param openedAtNanos when it was opened, which may have been before the server's start
 * @param grantedBefore what its lease had been granted of each GPU by then
 */
record SessionPast(long openedAtNanos, List<Long> grantedBefore) {
  /** The past of a session that is opened now. */
  static SessionPast none(Lease lease, long nowNanos) {
    return new SessionPast(
        nowNanos,
        IntStream.range(0, lease.topology().own().size())
            .mapToObj(part -> lease.time().grantedNanos(part, nowNanos))
            .toList());
  }

  /** The past that the server's former process has recorded. */
  static SessionPast of(SessionRecord.Past past, Timers timers) {
    long ageMillis = Math.max(0, timers.wallMillis() - past.openedAtMillis());
    return new SessionPast(
        timers.nowNanos() - TimeUnit.MILLISECONDS.toNanos(ageMillis), past.grantedBefore());
  }
}
