// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.lifecycle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.server.capacity.Partitions;
import io.gpupool.server.control.ManualTimers;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.gpu.LeaseClass;
import io.gpupool.server.gpu.Share;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.identity.Role;
import io.gpupool.server.lease.model.LeaseHold;
import io.gpupool.server.lease.model.LeaseState;
import io.gpupool.server.lease.queue.QueueClient;
import io.gpupool.server.lease.usage.FormerUsage;
import io.gpupool.server.placement.GpuRequirements;
import io.gpupool.server.placement.Placement;
import io.gpupool.server.placement.Placement.Outcome;
import io.gpupool.server.placement.PlacementTest;
import io.gpupool.server.records.LeaseChange;
import io.gpupool.server.records.LeaseSpec;
import io.gpupool.server.records.Quota;
import io.gpupool.server.records.RecordTypes;
import io.gpupool.server.records.ResourceUsage;
import io.gpupool.server.rejection.LeaseRefusal;
import io.gpupool.server.rejection.RefusedException;
import io.gpupool.server.rejection.RejectionReason;
import io.gpupool.server.state.LocalStore;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class LeaseUpdatesTest {
  private static final long GIB = 1L << 30;
  private static final long SECOND = 1_000_000_000;

  private final LocalStore store = LocalStore.inMemory();
  private final ManualTimers timers = new ManualTimers();
  private final Gpu gpu = PlacementTest.gpu("host:7642", 0, 8 * GIB);
  private final Ground ground = new Ground(store, timers, List.of(gpu), "host:7642");
  private final LeaseUpdates updates = updates(false);

  private LeaseUpdates updates(boolean mps) {
    return ground.updates(mps);
  }

  private static LeaseChange compute(double percent) {
    return new LeaseChange((int) (percent * 100), null, null);
  }

  private static LeaseChange hard(boolean hard) {
    return new LeaseChange(null, hard, null);
  }

  private Lease grant(double part, String tenant, @Nullable String partition) throws Exception {
    GpuRequirements requirements =
        new GpuRequirements(
            1,
            new GpuRequirements.Size.Fraction(part),
            null,
            List.of(),
            partition,
            false,
            false,
            false);
    Outcome.Placed placed =
        (Outcome.Placed) Placement.place(requirements, tenant, ground.capacity.snapshot());
    return ground.grant(Ground.request(requirements, tenant), placed.parts()).lease();
  }

  private Lease grant(double part) throws Exception {
    return grant(part, "", null);
  }

  private void requireRefused(Lease lease, LeaseChange change, String reason) {
    var before = ground.records.get(RecordTypes.GRANTS, lease.id().text());
    Share free = ground.capacity.free(gpu);
    List<Placement.Part> parts = lease.parts();
    assertThatThrownBy(() -> updates.update(lease.id().text(), change, Principal.ANYONE))
        .isInstanceOf(RefusedException.class)
        .hasMessageContaining(reason);
    assertThat(ground.records.get(RecordTypes.GRANTS, lease.id().text())).isEqualTo(before);
    assertThat(ground.capacity.free(gpu)).isEqualTo(free);
    assertThat(lease.parts()).isEqualTo(parts);
  }

  @Test
  void update_everything_isInTheLeaseTheRecordTheGpuAndTheAudit() throws Exception {
    Lease lease = grant(0.5);
    LeaseChange change = new LeaseChange(8050, true, LeaseClass.LATENCY);
    assertThat(updates.update(lease.id().text(), change, Principal.ANYONE)).isSameAs(lease);
    assertThat(lease.parts())
        .containsExactly(new Placement.Part(gpu, null, new Share(4 * GIB, 8050), true));
    assertThat(lease.leaseClass()).isEqualTo(LeaseClass.LATENCY);
    assertThat(lease.state()).isInstanceOf(LeaseState.Held.class);
    assertThat(ground.capacity.free(gpu)).isEqualTo(new Share(4 * GIB, 1950));
    assertThat(ground.audit.latest(1).getFirst().entry())
        .satisfies(entry -> {
          assertThat(entry.action()).isEqualTo("lease.update");
          assertThat(entry.subject()).isEqualTo(lease.id().text());
          assertThat(entry.detail()).isEqualTo("80.5 % compute, hard, class latency");
        });

    Ground restarted = new Ground(store, timers, List.of(gpu), "host:7642");
    restarted.leases.restore(FormerUsage.unknown());
    Lease after = restarted.finder.find(lease.id().text()).orElseThrow();
    assertThat(after.parts()).isEqualTo(lease.parts());
    assertThat(after.leaseClass()).isEqualTo(LeaseClass.LATENCY);
    ground.leases.end(lease, "done");
    assertThat(ground.records.all(RecordTypes.DIVISIONS)).isEmpty();
  }

  @Test
  void update_ofOneThing_leavesTheRest() throws Exception {
    Lease lease = grant(0.5);
    updates.update(lease.id().text(), hard(true), Principal.ANYONE);
    updates.update(lease.id().text(), compute(20), Principal.ANYONE);
    assertThat(lease.parts().getFirst().hard()).isTrue();
    assertThat(lease.parts().getFirst().share()).isEqualTo(new Share(4 * GIB, 2000));
    assertThat(lease.leaseClass()).isEqualTo(LeaseClass.BATCH);
    updates.update(lease.id().text(), hard(false), Principal.ANYONE);
    assertThat(lease.parts().getFirst().hard()).isFalse();
    assertThat(lease.parts().getFirst().share().computeBasisPoints()).isEqualTo(2000);
  }

  @Test
  void update_moreThanIsFree_saysHowMuchIsAndChangesNothing() throws Exception {
    Lease lease = grant(0.5);
    Lease other = grant(0.25);
    requireRefused(
        lease, compute(76), "25 % is free beside the 50 % that it has; give 75 % at most");
    requireRefused(lease, compute(76), "or wait for leases " + other.id());
    updates.update(lease.id().text(), compute(75), Principal.ANYONE);
    assertThat(ground.capacity.free(gpu).computeBasisPoints()).isZero();
  }

  @Test
  void update_inAPartition_takesFromThatAlone() throws Exception {
    ground.partitions.create(
        Principal.ANYONE, gpu, "small", new Partitions.Wanted(4 * GIB, 4000), true, Set.of());
    Lease lease = grant(0.5, "", "small");
    requireRefused(lease, compute(41), "of partition 'small' of " + gpu.label());
    requireRefused(lease, compute(41), "give 40 % at most");
    requireRefused(lease, hard(false), "of partition 'small', whose leases are hard");
    updates.update(lease.id().text(), compute(40), Principal.ANYONE);
    assertThat(lease.parts().getFirst().hard()).isTrue();
  }

  @Test
  void update_inAPartitionThatShrinks_letsItShrinkAndNeverGrows() throws Exception {
    ground.partitions.create(
        Principal.ANYONE, gpu, "p", new Partitions.Wanted(4 * GIB, 5000), false, Set.of());
    Lease lease = grant(1, "", "p");
    ground.partitions.resize(
        Principal.ANYONE, gpu, "p", new Partitions.Wanted(4 * GIB, 1000), true, 0);
    requireRefused(lease, compute(51), "0 % is free");
    updates.update(lease.id().text(), compute(5), Principal.ANYONE);
    assertThat(ground.capacity.division(gpu).partition("p").orElseThrow().size())
        .isEqualTo(new Share(4 * GIB, 1000));
  }

  @Test
  void update_beyondTheTenantsQuota_isRefusedAndLessIsAlwaysAllowed() throws Exception {
    Quota quota = new Quota(600L, null, null, null);
    ground.tenants.create(Principal.ANYONE, "blue", quota);
    Lease lease = grant(0.5, "blue", null);
    requireRefused(lease, compute(61), "tenant 'blue' may hold at most 0.6 GPUs");
    updates.update(lease.id().text(), compute(60), Principal.ANYONE);
    assertThat(ground.tenants.use("blue")).isEqualTo(new ResourceUsage(600, 4 * GIB, 1));
    ground.tenants.setQuota(Principal.ANYONE, "blue", new Quota(100L, null, null, null), "", 0);
    updates.update(lease.id().text(), compute(55), Principal.ANYONE);
    assertThat(ground.tenants.use("blue").milliGpus()).isEqualTo(550);
    ground.leases.end(lease, "done");
    assertThat(ground.tenants.use("blue")).isEqualTo(ResourceUsage.NONE);
  }

  @Test
  void update_byAnother_findsNoSuchLease() throws Exception {
    ground.tenants.create(Principal.ANYONE, "blue", Quota.UNLIMITED);
    Lease lease = grant(0.5, "blue", null);
    for (Principal principal :
        List.of(
            new Principal("red", Role.USER, null), new Principal("blue", Role.READ_ONLY, null))) {
      assertThatThrownBy(() -> updates.update(lease.id().text(), compute(10), principal))
          .hasMessageContaining("there is no lease '" + lease.id() + "' of yours");
    }
    updates.update(lease.id().text(), compute(10), new Principal("blue", Role.USER, null));
    assertThat(lease.parts().getFirst().share().computeBasisPoints()).isEqualTo(1000);
  }

  @Test
  void update_ofNoneOrOfOneThatEnds_saysSo() throws Exception {
    assertThatThrownBy(() -> updates.update("L99", compute(10), Principal.ANYONE))
        .hasMessageContaining("there is no lease 'L99' of yours");
    Lease lease = grant(0.5);
    ground.store.free(lease.id(), s -> false, "released by ann");
    requireRefused(lease, compute(10), "is ending: released by ann");
  }

  @Test
  void update_whereProgramsKeepWhatTheyStartedWith_changesNoCompute() throws Exception {
    Lease lease = grant(0.5);
    assertThatThrownBy(() -> updates(true).update(lease.id().text(), compute(10), Principal.ANYONE))
        .hasMessageContaining("shares its GPUs through MPS");
    updates(true)
        .update(
            lease.id().text(), new LeaseChange(null, null, LeaseClass.LATENCY), Principal.ANYONE);
    assertThat(lease.leaseClass()).isEqualTo(LeaseClass.LATENCY);
  }

  @Test
  void update_ofTheShare_grantsTheOldUntilThenAndTheNewFromThenOn() throws Exception {
    Lease lease = grant(0.5);
    timers.pass(10_000);
    updates.update(lease.id().text(), compute(20), Principal.ANYONE);
    timers.pass(10_000);
    assertThat(lease.time().grantedNanos(0, timers.nowNanos())).isEqualTo(7 * SECOND);
  }

  @Test
  void update_thatMakesRoom_grantsWhoWaits() throws Exception {
    Lease lease = grant(0.5);
    List<Lease> granted = new ArrayList<>();
    GpuRequirements requirements =
        new GpuRequirements(1, new GpuRequirements.Size.Memory(GIB), 7000, List.of());
    ground.queue.ask(
        new LeaseSpec(requirements, 0, 60_000, Ground.HOLDER, Principal.ANYONE, ""),
        new QueueClient() {
          @Override
          public LeaseHold hold() {
            return reason -> {};
          }

          @Override
          public void queued(int place, RejectionReason reason) {}

          @Override
          public void granted(GrantedLease lease) {
            granted.add(lease.lease());
          }

          @Override
          public void refused(LeaseRefusal refusal) {
            throw new AssertionError(refusal.text());
          }
        },
        null);
    assertThat(granted).isEmpty();
    updates.update(lease.id().text(), compute(30), Principal.ANYONE);
    assertThat(granted).hasSize(1);
  }
}
