// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.lifecycle;

import io.gpupool.server.capacity.Capacity;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.gpu.GpuKey;
import io.gpupool.server.gpu.Share;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.placement.Allocation;
import io.gpupool.server.placement.Division;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.placement.Partition;
import io.gpupool.server.records.GrantRecord;
import io.gpupool.server.records.GrantRecord.PartRecord;
import io.gpupool.server.records.LeaseChange;
import io.gpupool.server.records.MoveRecord;
import io.gpupool.server.records.RecordTypes;
import io.gpupool.server.records.ResourceUsage;
import io.gpupool.server.records.ServerEntry;
import io.gpupool.server.records.Tenant;
import io.gpupool.server.rejection.QuotaLimit;
import io.gpupool.server.rejection.RefusedException;
import io.gpupool.server.rejection.RejectionReason;
import io.gpupool.server.state.RecordStore;
import io.gpupool.server.state.StateException;
import io.gpupool.server.state.Transaction;
import io.gpupool.server.tenant.Audit;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * The updates of leases that are held. One commit changes the lease, its GPUs and what its tenant
 * holds, on all its servers; each server applies it as soon as it sees it. Owned by the control
 * thread.
 */
public final class LeaseUpdates {
  private final LeaseService leases;
  private final LeaseFinder finder;
  private final RoomSignal room;
  private final RecordStore records;
  private final Audit audit;
  private final Capacity capacity;
  private final boolean mps;

  /**
   * Of a server's pool.
   *
   * @param mps whether this server shares its GPUs through MPS
   */
  public LeaseUpdates(
      LeaseService leases,
      LeaseFinder finder,
      RoomSignal room,
      RecordStore records,
      Audit audit,
      Capacity capacity,
      boolean mps) {
    this.leases = leases;
    this.finder = finder;
    this.room = room;
    this.records = records;
    this.audit = audit;
    this.capacity = capacity;
    this.mps = mps;
  }

  /** Changes a lease that the principal may use, all of it or nothing. */
  public Lease update(String id, LeaseChange change, Principal principal)
      throws RefusedException, StateException {
    LeaseId key = new LeaseId(id);
    GrantRecord written =
        records.transact(transaction -> update(transaction, key, change, principal));
    Lease lease = finder.find(id).orElseThrow(() -> LeaseFinder.unknown(id));
    leases.apply(lease, written);
    room.announce();
    return lease;
  }

  private GrantRecord update(
      Transaction transaction, LeaseId id, LeaseChange change, Principal principal)
      throws RefusedException {
    GrantRecord before =
        transaction
            .get(RecordTypes.GRANTS, id.text())
            .filter(grant -> principal.mayUse(grant.tenant()))
            .orElseThrow(() -> LeaseFinder.unknown(id.text()));
    if (before.isEnding()) {
      throw new RefusedException(
          RefusedException.Why.IN_USE,
          "lease "
              + id
              + " is ending"
              + Optional.ofNullable(before.ending())
                  .filter(why -> !why.isEmpty())
                  .map(why -> ": " + why)
                  .orElse("")
              + "; ask for a new one");
    }
    if (transaction.get(RecordTypes.MOVES, id.text()).filter(MoveRecord::isPreparing).isPresent()) {
      throw new RefusedException(
          RefusedException.Why.IN_USE,
          "lease " + id + " is being moved to another GPU; change it once it has moved");
    }
    if (transaction
        .get(RecordTypes.SUSPENSIONS, id.text())
        .filter(suspension -> !suspension.isOver())
        .isPresent()) {
      throw new RefusedException(
          RefusedException.Why.IN_USE,
          "lease " + id + " is suspended; change it once it is resumed");
    }
    List<PartRecord> parts = new ArrayList<>();
    for (PartRecord part : before.parts()) {
      parts.add(update(transaction, id, part, change));
    }
    GrantRecord after =
        before.with(parts, Objects.requireNonNullElse(change.leaseClass(), before.leaseClass()));
    count(transaction, before, after);
    transaction.put(RecordTypes.GRANTS, id.text(), after);
    audit.note(transaction, principal, "lease.update", id.text(), change.text());
    return after;
  }

  private PartRecord update(
      Transaction transaction, LeaseId id, PartRecord part, LeaseChange change)
      throws RefusedException {
    Division division =
        transaction.get(RecordTypes.DIVISIONS, part.gpu().text()).orElse(Division.UNDIVIDED);
    boolean hard = Objects.requireNonNullElse(change.hard(), part.hard());
    Optional<Partition> partition =
        Optional.ofNullable(part.partition()).flatMap(division::partition);
    if (!hard && partition.filter(Partition::hard).isPresent()) {
      throw new RefusedException(
          RefusedException.Why.IN_USE,
          "lease "
              + id
              + " cannot become lendable: it is of partition '"
              + partition.get().name()
              + "', whose leases are hard");
    }
    if (change.computeBasisPoints() == null) {
      return new PartRecord(part.gpu(), part.partition(), part.share(), hard, part.milliGpus());
    }
    int compute = change.computeBasisPoints();
    requireTimeSlices(id, part.gpu().server());
    Gpu gpu = capacity.gpu(part.gpu()).orElseThrow(() -> gone(id, part.gpu()));
    Division after =
        division
            .change(id, part.partition(), compute, gpu.whole())
            .orElseThrow(() -> noRoom(id, part, division, compute, gpu));
    transaction.put(RecordTypes.DIVISIONS, part.gpu().text(), after);
    Share share = new Share(part.share().memoryBytes(), compute);
    return new PartRecord(
        part.gpu(), part.partition(), share, hard, ResourceUsage.milliGpus(gpu, share));
  }

  /** A tenant may always come to hold less, whatever its quota has become. */
  private static void count(Transaction transaction, GrantRecord before, GrantRecord after)
      throws RefusedException {
    String tenant = before.tenant();
    if (tenant.isEmpty() || after.use().equals(before.use())) {
      return;
    }
    ResourceUsage use =
        transaction
            .get(RecordTypes.USAGES, tenant)
            .orElse(ResourceUsage.NONE)
            .minus(before.use())
            .plus(after.use());
    Optional<QuotaLimit> limit =
        transaction
            .get(RecordTypes.TENANTS, tenant)
            .map(Tenant::quota)
            .flatMap(quota -> quota.exceededBy(use));
    if (limit.isPresent() && after.use().milliGpus() > before.use().milliGpus()) {
      RejectionReason over = new RejectionReason.OverQuota(tenant, limit.get());
      throw new RefusedException(
          RefusedException.Why.IN_USE,
          over.text()
              + "; it would hold "
              + use.milliGpus() / 1000.0
              + " GPUs: ask for less, or release other leases",
          over);
    }
    transaction.put(RecordTypes.USAGES, tenant, use);
  }

  /** Elsewhere what a program has of the GPU is given to it when it starts. */
  private void requireTimeSlices(LeaseId id, String server) throws RefusedException {
    boolean fixed =
        capacity.members().isThis(server)
            ? mps
            : Optional.ofNullable(capacity.members().others().get(server))
                .filter(ServerEntry::mps)
                .isPresent();
    if (fixed) {
      throw new RefusedException(
          RefusedException.Why.IN_USE,
          "the compute of lease "
              + id
              + " stays as it is: server "
              + server
              + " shares its GPUs through MPS, by which programs keep the part of the"
              + " multiprocessors that they started with; ask for a new lease");
    }
  }

  private static RefusedException noRoom(
      LeaseId id, PartRecord part, Division division, int compute, Gpu gpu) {
    int has = part.share().computeBasisPoints();
    int free = division.free(part.partition(), gpu.whole()).computeBasisPoints();
    String others =
        division.allocations().stream()
            .filter(a -> Objects.equals(a.partition(), part.partition()) && !a.lease().equals(id))
            .map(Allocation::lease)
            .map(LeaseId::text)
            .collect(Collectors.joining(", "));
    return new RefusedException(
        RefusedException.Why.IN_USE,
        "lease "
            + id
            + " cannot have "
            + LeaseChange.percent(compute)
            + " compute of "
            + Optional.ofNullable(part.partition())
                .map(name -> "partition '" + name + "' of ")
                .orElse("")
            + gpu.label()
            + ": "
            + LeaseChange.percent(free)
            + " is free beside the "
            + LeaseChange.percent(has)
            + " that it has; give "
            + LeaseChange.percent(has + free)
            + " at most"
            + (others.isEmpty() ? "" : ", or wait for leases " + others));
  }

  private static RefusedException gone(LeaseId id, GpuKey gpu) {
    return new RefusedException(
        RefusedException.Why.IN_USE,
        "server "
            + gpu.server()
            + ", which has GPUs of lease "
            + id
            + ", is not in the pool now; it may come back");
  }
}
