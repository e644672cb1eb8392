// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

import io.gpupool.server.state.Transaction;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A drain of a server, which grants nothing more.
 *
 * @param actor who asked for it
 * @param sinceMillis since 1970
 * @param deadlineAtMillis when the leases that are left are ended, since 1970; null: not at all
 * @param stopping whether the server is about to end, and forgets this then
 * @param move whether its leases are moved to other servers
 * @param leases what has come of that
 */
public record Drain(
    String actor,
    long sinceMillis,
    @Nullable Long deadlineAtMillis,
    boolean stopping,
    boolean move,
    List<DrainedLease> leases) {
  public Drain {
    leases = List.copyOf(leases);
  }

  /**
   * Returns the drain as it is when the server is about to end.
   *
   * @param orMove whether its leases are moved even if they are not yet
   * @param orDeadlineAtMillis deadline unless there is an earlier one; null: none
   */
  public Drain hastened(boolean orMove, @Nullable Long orDeadlineAtMillis) {
    boolean isEarlier =
        orDeadlineAtMillis != null
            && (deadlineAtMillis == null || orDeadlineAtMillis < deadlineAtMillis);
    return new Drain(
        actor,
        sinceMillis,
        isEarlier ? orDeadlineAtMillis : deadlineAtMillis,
        stopping,
        move || orMove,
        leases);
  }

  /** Returns the drain with other leases. */
  public Drain with(List<DrainedLease> others) {
    return new Drain(actor, sinceMillis, deadlineAtMillis, stopping, move, others);
  }

  /** Makes this the drain of a server. That of one that is about to end goes with it. */
  public void put(Transaction transaction, String server) {
    if (stopping) {
      transaction.putBound(RecordTypes.DRAINS, server, this);
    } else {
      transaction.put(RecordTypes.DRAINS, server, this);
    }
  }
}
