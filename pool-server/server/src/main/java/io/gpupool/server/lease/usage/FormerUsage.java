// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.usage;

import io.gpupool.server.placement.LeaseId;
import io.gpupool.transport.Descriptors;
import java.io.IOException;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The usage of GPUs as the server's former process has left it: ledgers and schedules, which the
 * workers of the sessions that go on have kept. Owned by the thread that starts the server.
 */
public final class FormerUsage {
  private final boolean known;
  private final Map<LeaseId, FormerLease> leases = new HashMap<>();
  private final Set<LeaseId> withLosses = new HashSet<>();
  private @Nullable SharedMemory schedule;

  private FormerUsage(boolean known) {
    this.known = known;
  }

  /** The usage of a server of whose former process nothing is known, if there was one. */
  public static FormerUsage unknown() {
    return new FormerUsage(false);
  }

  /** The usage of a server whose former process has left records, to which sessions are added. */
  public static FormerUsage known() {
    return new FormerUsage(true);
  }

  /**
   * Adds a session that goes on.
   *
   * @param ledger the descriptor of its lease's ledger, which is closed here, or later
   * @param schedules the same of the schedules
   * @throws IOException if they are not what the server gave to the worker
   */
  public void add(LeaseId lease, int slot, LeaseUsage usage, int ledger, int schedules)
      throws IOException {
    boolean isLedgerKept = false;
    boolean areSchedulesKept = false;
    try {
      usage.ledger().check(ledger);
      usage.schedule().check(schedules);
      if (schedule != null && !schedule.file().equals(usage.schedule())) {
        throw new IOException("its schedules are not those of the server's other sessions");
      }
      FormerLease former = leases.get(lease);
      if (former != null && !former.usage().ledger().equals(usage.ledger())) {
        throw new IOException("its ledger is not that of the lease's other sessions");
      }
      if (former == null) {
        isLedgerKept = true;
        former = new FormerLease(usage, new SharedMemory(ledger));
        leases.put(lease, former);
      }
      if (schedule == null) {
        areSchedulesKept = true;
        schedule = new SharedMemory(schedules);
      }
      former.slots().add(slot);
    } finally {
      closeUnless(isLedgerKept, ledger);
      closeUnless(areSchedulesKept, schedules);
    }
  }

  private static void closeUnless(boolean kept, int descriptor) throws IOException {
    if (!kept) {
      Descriptors.close(descriptor);
    }
  }

  /** Notes that a session of a lease is lost. */
  public void lose(LeaseId lease) {
    withLosses.add(lease);
  }

  /** Returns whether all sessions of a lease go on that could. */
  public boolean isWhole(LeaseId lease) {
    return known && !withLosses.contains(lease);
  }

  Collection<FormerLease> leases() {
    return leases.values();
  }

  /** What a lease had of this server; empty: no session of it goes on. */
  public Optional<FormerLease> lease(LeaseId lease) {
    return Optional.ofNullable(leases.get(lease));
  }

  /** Takes the schedules, which the caller must close; null: there are none. */
  @Nullable SharedMemory takeSchedule() {
    SharedMemory taken = schedule;
    schedule = null;
    return taken;
  }

  /** Closes what nobody has taken. */
  public void close() throws IOException {
    for (FormerLease lease : leases.values()) {
      SharedMemory ledger = lease.takeLedger();
      if (ledger != null) {
        ledger.close();
      }
    }
    SharedMemory left = takeSchedule();
    if (left != null) {
      left.close();
    }
  }
}
