// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.move;

import static io.gpupool.server.lease.move.TwoServers.GIB;
import static io.gpupool.server.lease.move.TwoServers.RESUMABLE;
import static io.gpupool.server.lease.move.TwoServers.USER;
import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.server.control.ManualTimers;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.gpu.LeaseClass;
import io.gpupool.server.gpu.Share;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.lease.lifecycle.Ground;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.lease.store.MoveStore;
import io.gpupool.server.limits.LeaseLimits;
import io.gpupool.server.placement.GpuRequirements;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.server.records.Drain;
import io.gpupool.server.records.DrainedLease;
import io.gpupool.server.records.DrainedLease.State;
import io.gpupool.server.records.LeaseOwner;
import io.gpupool.server.records.LeaseSpec;
import io.gpupool.server.records.MoveRecord;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Drains that move leases, on two servers' control planes; the test commits the moves. */
class DrainMovesTest {
  private final TwoServers pool = new TwoServers();
  private final ManualTimers timers = pool.timers;
  private final Gpu second = pool.second;
  private final Ground a = pool.a;
  private final Ground b = pool.b;

  DrainMovesTest() throws Exception {
    a.drains.start();
    new DrainMoves(a.records, a.store, pool.moves("1"), a.capacity, timers).start();
  }

  private LeaseId grant(double part, LeaseLimits limits, int priority, LeaseClass leaseClass)
      throws Exception {
    GpuRequirements requirements =
        new GpuRequirements(1, new GpuRequirements.Size.Fraction(part), null, List.of());
    LeaseSpec spec =
        new LeaseSpec(
            requirements,
            priority,
            0,
            new LeaseOwner(Ground.HOLDER, "blue", null),
            USER,
            limits,
            leaseClass);
    Lease lease = pool.grant(spec);
    a.leases.hold(lease, reason -> {});
    timers.pass(10);
    return lease.id();
  }

  private LeaseId grant(double part) throws Exception {
    return grant(part, RESUMABLE, 0, LeaseClass.BATCH);
  }

  private LeaseId takeAll() {
    return b.take(List.of(new Part(second, null, new Share(8 * GIB, 10_000), false)));
  }

  /** Commits the only move there is. Returns its lease. */
  private LeaseId moveNext() throws Exception {
    Map<LeaseId, MoveRecord> preparing = preparing();
    assertThat(preparing).hasSize(1);
    LeaseId id = preparing.keySet().iterator().next();
    MoveStore moves = a.store.moves();
    assertThat(
            moves.commit(
                id,
                preparing.get(id).id(),
                new MoveStore.Moved(List.of(), 100, 77_000_000),
                moves.sinceMillis("b")))
        .isEmpty();
    timers.pass(1000);
    return id;
  }

  private Map<LeaseId, MoveRecord> preparing() {
    return a.store.moves().all().entrySet().stream()
        .filter(move -> move.getValue().isPreparing())
        .collect(Collectors.toMap(Map.Entry::getKey, Map.Entry::getValue));
  }

  private DrainedLease told(LeaseId id) {
    return b.drains.of("a").orElseThrow().leases().stream()
        .filter(lease -> lease.id().equals(id))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void drain_leasesOfSeveralRanks_movesOneAfterTheOtherTheFirstRankFirst() throws Exception {
    LeaseId old = grant(0.125);
    LeaseId young = grant(0.125);
    LeaseId urgent = grant(0.125, RESUMABLE, 5, LeaseClass.BATCH);
    LeaseId latency = grant(0.25, RESUMABLE, 0, LeaseClass.LATENCY);
    b.drains.drain(Principal.ANYONE, "a", null, true);
    timers.pass(100);
    assertThat(told(latency).state()).isEqualTo(State.MOVING);
    assertThat(told(old)).isEqualTo(DrainedLease.waiting(old, ""));
    timers.pass(10_000);
    assertThat(List.of(moveNext(), moveNext(), moveNext(), moveNext()))
        .containsExactly(latency, urgent, old, young);
    assertThat(b.drains.of("a").orElseThrow().leases())
        .extracting(DrainedLease::state)
        .containsExactly(State.MOVED, State.MOVED, State.MOVED, State.MOVED);
    assertThat(told(urgent))
        .isEqualTo(DrainedLease.moved(urgent, new DrainedLease.Place("b", 0), 77));
    assertThat(a.capacity.isLeased("a")).isFalse();
    assertThat(a.audit.latest(9)).noneMatch(entry -> entry.entry().action().equals("lease.end"));
  }

  @Test
  void drain_withoutMove_movesNothing() throws Exception {
    grant(0.5);
    b.drains.drain(Principal.ANYONE, "a", null, false);
    timers.pass(10_000);
    assertThat(a.store.moves().all()).isEmpty();
    assertThat(b.drains.of("a").orElseThrow().leases()).isEmpty();
  }

  @Test
  void drain_noRoom_triesAgainUntilThereIs() throws Exception {
    LeaseId lease = grant(0.5);
    LeaseId taken = takeAll();
    b.drains.drain(Principal.ANYONE, "a", 9_000L, true);
    timers.pass(5_000);
    assertThat(preparing()).isEmpty();
    assertThat(told(lease).state()).isEqualTo(State.WAITING);
    assertThat(told(lease).reason()).contains("GPU 0 of b");
    b.giveBack(taken);
    timers.pass(3_000);
    assertThat(moveNext()).isEqualTo(lease);
    assertThat(told(lease).state()).isEqualTo(State.MOVED);
    timers.pass(2_000);
    assertThat(a.store.get(lease).orElseThrow().isOn("b")).isTrue();
    assertThat(told(lease).state()).as("after the deadline").isEqualTo(State.MOVED);
  }

  @Test
  void drain_roomForTheSecondOnly_movesTheSecond() throws Exception {
    LeaseId large = grant(0.5);
    LeaseId small = grant(0.25);
    LeaseId ignored = b.take(List.of(new Part(second, null, new Share(5 * GIB, 6000), false)));
    b.drains.drain(Principal.ANYONE, "a", null, true);
    timers.pass(100);
    assertThat(moveNext()).isEqualTo(small);
    assertThat(told(large).state()).isEqualTo(State.WAITING);
  }

  @Test
  void drain_timeIsUp_endsWhatIsLeftAndTellsWhy() throws Exception {
    LeaseId lease = grant(0.5);
    LeaseId taken = takeAll();
    b.drains.drain(Principal.ANYONE, "a", 5_000L, true);
    timers.pass(5_100);
    assertThat(told(lease).state()).isEqualTo(State.STAYS);
    assertThat(told(lease).reason()).startsWith("time was up: ").contains("GPU 0 of b");
    assertThat(a.capacity.isLeased("a")).isFalse();
    b.giveBack(taken);
    timers.pass(10_000);
    assertThat(a.store.moves().all()).isEmpty();
  }

  @Test
  void drain_timeIsUpAtOnce_tellsOfTheLease() throws Exception {
    LeaseId lease = grant(0.5);
    b.drains.drain(Principal.ANYONE, "a", 0L, true);
    timers.pass(1000);
    assertThat(told(lease)).isEqualTo(DrainedLease.stays(lease, "time was up"));
    assertThat(a.store.moves().all()).isEmpty();
  }

  @Test
  void drain_leaseThatCannotMove_staysAndIsNotTried() throws Exception {
    LeaseId fleeting = grant(0.25, new LeaseLimits(0, 0, 0, 0), 9, LeaseClass.BATCH);
    LeaseId lease = grant(0.25);
    b.drains.drain(Principal.ANYONE, "a", null, true);
    timers.pass(100);
    assertThat(told(fleeting).state()).isEqualTo(State.STAYS);
    assertThat(told(fleeting).reason()).contains("has a resume window of 0");
    assertThat(moveNext()).isEqualTo(lease);
    timers.pass(10_000);
    assertThat(a.store.get(fleeting).orElseThrow().isOn("a")).isTrue();
  }

  @Test
  void drain_moveFails_theOtherGoesFirstAndItIsTriedLater() throws Exception {
    LeaseId old = grant(0.25);
    LeaseId young = grant(0.25);
    b.drains.drain(Principal.ANYONE, "a", null, true);
    timers.pass(100);
    MoveRecord failing = preparing().get(old);
    a.store.moves().fail(old, failing.id(), "its code is being linked");
    a.store.moves().clear(old, failing.target().gpu());
    timers.pass(100);
    assertThat(told(old)).isEqualTo(DrainedLease.waiting(old, "its code is being linked"));
    assertThat(moveNext()).isEqualTo(young);
    assertThat(preparing()).isEmpty();
    timers.pass(5_000);
    assertThat(moveNext()).isEqualTo(old);
  }

  @Test
  void drain_leaseEnds_isToldOfNoMore() throws Exception {
    LeaseId lease = grant(0.5);
    LeaseId ignored = takeAll();
    b.drains.drain(Principal.ANYONE, "a", null, true);
    timers.pass(100);
    a.leases.end(a.finder.find(lease.text()).orElseThrow(), "done");
    timers.pass(2_000);
    assertThat(b.drains.of("a").orElseThrow().leases()).isEmpty();
  }

  @Test
  void uncordon_whileLeasesWait_movesNothingMore() throws Exception {
    grant(0.25);
    grant(0.25);
    b.drains.drain(Principal.ANYONE, "a", null, true);
    timers.pass(100);
    b.drains.uncordon(Principal.ANYONE, "a");
    timers.pass(100);
    LeaseId ignored = moveNext();
    timers.pass(10_000);
    assertThat(preparing()).isEmpty();
  }

  @Test
  void stop_withMove_movesTheLeases() throws Exception {
    LeaseId lease = grant(0.25);
    a.drains.stop(true, null, () -> {});
    timers.pass(100);
    assertThat(moveNext()).isEqualTo(lease);
    assertThat(Optional.of(told(lease).state())).contains(State.MOVED);
  }

  @Test
  void stop_withDeadline_endsWhatIsLeftThen() throws Exception {
    LeaseId lease = grant(0.5);
    LeaseId ignored = takeAll();
    List<String> told = new ArrayList<>();
    a.drains.stop(true, timers.wallMillis() + 5_000, () -> told.add("empty"));
    timers.pass(4_900);
    assertThat(told(lease).state()).isEqualTo(State.WAITING);
    assertThat(told).isEmpty();
    timers.pass(200);
    assertThat(told(lease).reason()).startsWith("time was up: ").contains("GPU 0 of b");
    timers.pass(1_000);
    assertThat(told).containsExactly("empty");
  }

  @Test
  void stop_whileAnAdminDrainsIt_movesItsLeasesAndKeepsTheEarlierDeadline() throws Exception {
    LeaseId lease = grant(0.25);
    long byMillis = timers.wallMillis() + 60_000;
    b.drains.drain(Principal.ANYONE, "a", 60_000L, false);
    timers.pass(100);
    a.drains.stop(true, byMillis + 60_000, () -> {});
    timers.pass(100);
    assertThat(moveNext()).isEqualTo(lease);
    Drain drain = b.drains.of("a").orElseThrow();
    assertThat(drain.stopping()).isFalse();
    assertThat(drain.deadlineAtMillis()).isEqualTo(byMillis);
    a.drains.stop(false, byMillis - 50_000, () -> {});
    assertThat(b.drains.of("a").orElseThrow().deadlineAtMillis()).isEqualTo(byMillis - 50_000);
    assertThat(b.drains.of("a").orElseThrow().move()).isTrue();
  }
}
