// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.store;

import io.gpupool.runtime.Timers;
import io.gpupool.server.capacity.Members;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.server.records.GrantRecord;
import io.gpupool.server.records.GrantRecord.PartRecord;
import io.gpupool.server.records.MoveRecord;
import io.gpupool.server.records.RecordTypes;
import io.gpupool.server.records.ResourceUsage;
import io.gpupool.server.records.SuspensionRecord;
import io.gpupool.server.records.SuspensionRecord.Phase;
import io.gpupool.server.rejection.RefusedException;
import io.gpupool.server.state.RecordStore;
import io.gpupool.server.state.StateException;
import io.gpupool.server.state.Transaction;
import io.gpupool.server.state.Versioned;
import io.gpupool.server.tenant.Audit;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.UnaryOperator;

/**
 * The records of the suspensions of leases. Each change names the suspension and goes by its phase,
 * so the first of several comes to be. Owned by the control thread.
 */
public final class SuspensionStore {
  private final RecordStore records;
  private final Audit audit;
  private final Members members;
  private final Timers timers;

  SuspensionStore(RecordStore records, Audit audit, Members members, Timers timers) {
    this.records = records;
    this.audit = audit;
    this.members = members;
    this.timers = timers;
  }

  /** The suspension of a lease, or the latest that failed. */
  public Optional<SuspensionRecord> get(LeaseId id) {
    return records.get(RecordTypes.SUSPENSIONS, id.text()).map(Versioned::value);
  }

  /** Whether a lease is suspended, is about to be, or is being restored. */
  public boolean isSuspended(LeaseId id) {
    return get(id).filter(found -> !found.isOver()).isPresent();
  }

  /** Has an action run after every change of suspensions, on the thread that brought it. */
  public void whenChanged(Runnable action) {
    records.whenChanged(RecordTypes.SUSPENSIONS, action);
  }

  /** The suspensions of all leases. */
  public Map<LeaseId, SuspensionRecord> all() {
    Map<LeaseId, SuspensionRecord> all = new LinkedHashMap<>();
    records
        .all(RecordTypes.SUSPENSIONS)
        .forEach((id, record) -> all.put(new LeaseId(id), record.value()));
    return all;
  }

  /**
   * Begins a suspension; its server does the rest.
   *
   * @throws RefusedException if something that the decision rests on has changed
   */
  public void begin(LeaseId id, SuspensionRecord suspension, Principal principal)
      throws StateException, RefusedException {
    records.update(transaction -> {
      boolean isThere =
          GrantRecord.living(transaction, id)
              .filter(found -> found.parts().equals(List.of(suspension.part())))
              .isPresent();
      boolean isMoving =
          transaction.get(RecordTypes.MOVES, id.text()).filter(MoveRecord::isUnderWay).isPresent();
      if (!isThere || isMoving || find(transaction, id).filter(s -> !s.isOver()).isPresent()) {
        throw new RefusedException(
            RefusedException.Why.CHANGED, "lease " + id + " has changed meanwhile; try again");
      }
      transaction.put(RecordTypes.SUSPENSIONS, id.text(), suspension);
      audit.note(transaction, principal, "lease.suspend", id.text(), "");
    });
  }

  /** Notes that the lease's server has begun. Returns whether it is to go on. */
  public boolean start(LeaseId id, String suspension) throws StateException {
    return change(id, suspension, EnumSet.of(Phase.ASKED), before -> before.in(Phase.SUSPENDING));
  }

  /** Ends a suspension that has failed; nothing changes if the sessions are saved. */
  public void fail(LeaseId id, String suspension, String reason) throws StateException {
    change(
        id,
        suspension,
        EnumSet.of(Phase.ASKED, Phase.SUSPENDING),
        before -> before.in(Phase.FAILED).because(reason));
  }

  /**
   * Commits that the sessions are saved: from now on they execute nothing where they were.
   *
   * @return whether they are; else the suspension or the lease has ended
   */
  public boolean save(
      LeaseId id, String suspension, List<String> sessions, long bytes, long pauseNanos)
      throws StateException {
    return records.transact(transaction -> {
      Optional<SuspensionRecord> before = find(transaction, id, suspension);
      if (before.filter(found -> found.phase() == Phase.SAVED).isPresent()) {
        return true;
      }
      boolean goesOn =
          before.filter(found -> found.phase() == Phase.SUSPENDING).isPresent()
              && GrantRecord.living(transaction, id).isPresent();
      if (goesOn) {
        transaction.put(
            RecordTypes.SUSPENSIONS, id.text(), before.get().saved(sessions, bytes, pauseNanos));
      }
      return goesOn;
    });
  }

  /**
   * Frees what a saved lease has of its GPU, on which nothing of it is alive.
   *
   * @param reason for which it was not resumed; empty: it was not asked to
   */
  public void release(LeaseId id, String suspension, String reason) throws StateException {
    records.update(transaction -> {
      Optional<SuspensionRecord> before =
          find(transaction, id, suspension).filter(SuspensionRecord::isSaved);
      Optional<GrantRecord> grant = GrantRecord.living(transaction, id);
      if (before.isEmpty() || grant.isEmpty()) {
        return;
      }
      GrantRecord empty =
          grant
              .get()
              .with(
                  grant.get().parts().stream().map(PartRecord::empty).toList(),
                  grant.get().leaseClass());
      if (!empty.equals(grant.get())) {
        empty
            .parts()
            .forEach(part -> new EndCommit(transaction, audit).free(id, part.gpu().text()));
        countLess(transaction, grant.get().tenant(), grant.get().use().minus(empty.use()));
        transaction.put(RecordTypes.GRANTS, id.text(), empty);
      }
      transaction.put(
          RecordTypes.SUSPENSIONS, id.text(), before.get().in(Phase.SUSPENDED).because(reason));
    });
  }

  private static void countLess(Transaction transaction, String tenant, ResourceUsage less) {
    transaction
        .get(RecordTypes.USAGES, tenant)
        .ifPresent(use -> transaction.put(RecordTypes.USAGES, tenant, use.minus(less)));
  }

  /** Asks for a lease to be resumed. Returns whether it is suspended. */
  public boolean want(LeaseId id, Principal principal) throws StateException {
    return records.transact(transaction -> {
      Optional<SuspensionRecord> before = find(transaction, id).filter(found -> !found.isOver());
      before
          .filter(found -> !found.isWanted())
          .ifPresent(found -> {
            transaction.put(RecordTypes.SUSPENSIONS, id.text(), found.wanted(timers.wallMillis()));
            audit.note(transaction, principal, "lease.resume", id.text(), "");
          });
      return before.isPresent();
    });
  }

  /** Notes the reason for which a lease that is asked to resume is not resumed yet. */
  public void note(LeaseId id, String suspension, String reason) throws StateException {
    change(id, suspension, EnumSet.of(Phase.SUSPENDED), before -> before.because(reason));
  }

  /**
   * Takes a part of a GPU for a suspended lease: its sessions are restored there.
   *
   * @return the lease as it is recorded now
   * @throws RefusedException if the part is not free any more, or the lease goes on otherwise
   */
  public GrantRecord take(LeaseId id, String suspension, Part part)
      throws StateException, RefusedException {
    return records.transact(transaction -> {
      Optional<SuspensionRecord> before =
          find(transaction, id, suspension).filter(found -> found.phase() == Phase.SUSPENDED);
      Optional<GrantRecord> grant = GrantRecord.living(transaction, id);
      if (before.isEmpty() || grant.isEmpty()) {
        throw new RefusedException(
            RefusedException.Why.NOT_FOUND, "lease " + id + " is not suspended any more");
      }
      transaction.put(
          RecordTypes.SUSPENSIONS, id.text(), before.get().in(Phase.RESUMING).because(""));
      return new GrantCommit(transaction, members).takeAgain(id, grant.get(), part);
    });
  }

  /** Commits that a lease goes on. Returns whether it does; else it has ended. */
  public boolean resume(LeaseId id, String suspension) throws StateException {
    return records.transact(transaction -> {
      boolean goesOn =
          find(transaction, id, suspension)
                  .filter(found -> found.phase() == Phase.RESUMING)
                  .isPresent()
              && GrantRecord.living(transaction, id).isPresent();
      if (goesOn) {
        transaction.delete(RecordTypes.SUSPENSIONS, id.text());
      }
      return goesOn;
    });
  }

  /** Forgets a saved session whose program has left. */
  public void forget(LeaseId id, String session) throws StateException {
    records.update(transaction ->
        find(transaction, id)
            .filter(found -> found.sessions().contains(session))
            .ifPresent(found ->
                transaction.put(RecordTypes.SUSPENSIONS, id.text(), found.without(session))));
  }

  private boolean change(
      LeaseId id, String suspension, Set<Phase> phases, UnaryOperator<SuspensionRecord> change)
      throws StateException {
    return records.transact(transaction -> {
      Optional<SuspensionRecord> before =
          find(transaction, id, suspension).filter(found -> phases.contains(found.phase()));
      before
          .map(change)
          .filter(after -> !after.equals(before.get()))
          .ifPresent(after -> transaction.put(RecordTypes.SUSPENSIONS, id.text(), after));
      return before.isPresent();
    });
  }

  private static Optional<SuspensionRecord> find(Transaction transaction, LeaseId id) {
    return transaction.get(RecordTypes.SUSPENSIONS, id.text());
  }

  private static Optional<SuspensionRecord> find(
      Transaction transaction, LeaseId id, String suspension) {
    return find(transaction, id).filter(found -> found.id().equals(suspension));
  }
}
