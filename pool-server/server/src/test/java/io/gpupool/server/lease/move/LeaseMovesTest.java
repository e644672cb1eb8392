// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.move;

import static io.gpupool.server.lease.move.TwoServers.GIB;
import static io.gpupool.server.lease.move.TwoServers.RESUMABLE;
import static io.gpupool.server.lease.move.TwoServers.USER;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.server.control.ManualTimers;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.gpu.GpuKey;
import io.gpupool.server.gpu.GpuModel;
import io.gpupool.server.gpu.Share;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.identity.Role;
import io.gpupool.server.identity.TokenHash;
import io.gpupool.server.lease.lifecycle.Ground;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.lease.model.LeaseState;
import io.gpupool.server.lease.store.MoveStore;
import io.gpupool.server.limits.LeaseLimits;
import io.gpupool.server.placement.GpuRequirements;
import io.gpupool.server.placement.Placement;
import io.gpupool.server.records.GpuFault;
import io.gpupool.server.records.LeaseChange;
import io.gpupool.server.records.LeaseSpec;
import io.gpupool.server.records.MoveRecord;
import io.gpupool.server.records.RecordTypes;
import io.gpupool.server.records.ResourceUsage;
import io.gpupool.server.rejection.RefusedException;
import io.gpupool.server.rejection.RejectionReason;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Requests to move leases, and the records of moves, on two servers' control planes. */
class LeaseMovesTest {
  private final TwoServers pool = new TwoServers();
  private final ManualTimers timers = pool.timers;
  private final Gpu first = pool.first;
  private final Gpu second = pool.second;
  private final Ground a = pool.a;
  private final Ground b = pool.b;
  private final LeaseMoves moves = pool.moves("1");

  LeaseMovesTest() throws Exception {}

  private Lease grant(int gpus, double part, LeaseLimits limits) throws Exception {
    GpuRequirements requirements =
        new GpuRequirements(gpus, new GpuRequirements.Size.Fraction(part), null, List.of());
    return pool.grant(new LeaseSpec(requirements, 0, 0, Ground.HOLDER, USER, "blue", limits));
  }

  private Lease grant() throws Exception {
    return grant(1, 0.5, RESUMABLE);
  }

  private static RefusedException refusal(Throwable failure) {
    return (RefusedException) failure;
  }

  @Test
  void begin_targetHasRoom_takesTheShareOfBothAndCountsItOnce() throws Exception {
    Lease lease = grant();
    ResourceUsage before = a.records.get(RecordTypes.USAGES, "blue").orElseThrow().value();
    Share share = lease.parts().getFirst().share();
    LeaseMoves.Begun begun = moves.begin(lease.id().text(), new Destination("b", null), USER);
    assertThat(begun.to().gpu()).as("the one that is alike").isEqualTo(second);
    assertThat(a.capacity.division(first).granted(null)).isEqualTo(share);
    assertThat(a.capacity.division(second).granted(null)).isEqualTo(share);
    assertThat(a.records.get(RecordTypes.USAGES, "blue").orElseThrow().value()).isEqualTo(before);
    MoveRecord record = b.store.moves().get(lease.id()).orElseThrow();
    assertThat(record.isPreparing()).isTrue();
    assertThat(record.keyHash()).as("the source makes the key").isNull();
    assertThat(record.deadlineAtMillis()).isEqualTo(timers.wallMillis() + 120_000);
    assertThat(a.audit.latest(1).getFirst().entry().action()).isEqualTo("lease.move");
    assertThat(lease.state().isAlive()).isTrue();
  }

  @Test
  void begin_whileItIsBeingMoved_isRefusedAndSoIsAChange() throws Exception {
    Lease lease = grant();
    LeaseMoves.Begun ignored = moves.begin(lease.id().text(), new Destination("b", 0), USER);
    assertThatThrownBy(() -> moves.begin(lease.id().text(), new Destination("b", 0), USER))
        .hasMessageContaining("is being moved already");
    assertThatThrownBy(() ->
            a.updates(false).update(lease.id().text(), new LeaseChange(1000, null, null), USER))
        .hasMessageContaining("is being moved to another GPU");
  }

  @Test
  void begin_leaseOrCallerWillNotDo_isRefusedWithTheReason() throws Exception {
    Lease both = grant(2, 0.25, RESUMABLE);
    assertThatThrownBy(() -> moves.begin(both.id().text(), new Destination("b", 0), USER))
        .hasMessageContaining("moves only leases of one GPU yet");
    Lease fleeting = grant(1, 0.25, new LeaseLimits(0, 0, 0, 0));
    assertThatThrownBy(() -> moves.begin(fleeting.id().text(), new Destination("b", 0), USER))
        .hasMessageContaining("has a resume window of 0");
    Lease lease = grant(1, 0.25, RESUMABLE);
    Principal green = new Principal("green", Role.USER, null);
    assertThatThrownBy(() -> moves.begin(lease.id().text(), new Destination("b", 0), green))
        .hasMessageContaining("there is no lease");
    assertThatThrownBy(() -> moves.begin(lease.id().text(), new Destination("a", 0), USER))
        .hasMessageContaining("is on GPU 0 of a already");
    assertThatThrownBy(() -> moves.begin(lease.id().text(), new Destination("c", null), USER))
        .hasMessageContaining("there is no GPU c");
    assertThatThrownBy(() ->
            pool.moves("2").begin(lease.id().text(), new Destination("b", null), Principal.ANYONE))
        .hasMessageContaining("runs gpupool 2");
    assertThat(a.store.moves().all()).isEmpty();
  }

  @Test
  void begin_targetHasAnotherDriver_isRefusedWithBoth() throws Exception {
    pool.come("c", new GpuModel(first.name(), 8 * GIB, first.computeCapability(), 13010));
    Lease lease = grant();
    assertThatThrownBy(() -> moves.begin(lease.id().text(), new Destination("c", null), USER))
        .hasMessageContaining("and c has driver CUDA 13.1; install the same driver on both");
  }

  @Test
  void begin_serverWithoutMovableGpus_isRefusedByTheOption() throws Exception {
    Lease lease = grant();
    LeaseMoves fixed = pool.moves(new ServerKinds.Kind("soft", "1", false));
    assertThatThrownBy(() -> fixed.begin(lease.id().text(), new Destination("b", null), USER))
        .hasMessageContaining("a has NVIDIA GPUs and was started without --movable");
    assertThatThrownBy(() -> fixed.beginElsewhere(lease.id()))
        .hasMessageContaining("a has NVIDIA GPUs and was started without --movable");
  }

  @Test
  void begin_targetWillNotDo_isRefusedWithTheReasonOfAPlacement() throws Exception {
    Lease lease = grant();
    assertThatThrownBy(() -> moves.begin(lease.id().text(), new Destination("b", 1), USER))
        .satisfies(failure ->
            assertThat(refusal(failure).reason()).get().isInstanceOf(RejectionReason.NoMatch.class))
        .hasMessageContaining("moves only to another such GPU");
    a.records.update(transaction -> {
      transaction.put(RecordTypes.GPU_FAULTS, GpuKey.of(second).text(), new GpuFault("hot", 1));
    });
    assertThatThrownBy(() -> moves.begin(lease.id().text(), new Destination("b", 0), USER))
        .hasMessage("GPU 0 of b grants nothing: hot");
    a.records.update(transaction -> {
      transaction.delete(RecordTypes.GPU_FAULTS, GpuKey.of(second).text());
    });
    var taken = b.take(List.of(new Placement.Part(second, null, new Share(6 * GIB, 7000), false)));
    assertThatThrownBy(() -> moves.begin(lease.id().text(), new Destination("b", 0), USER))
        .satisfies(failure ->
            assertThat(refusal(failure).reason())
                .get()
                .isInstanceOf(RejectionReason.NoCapacity.class));
    b.giveBack(taken);
    a.drains.drain(Principal.ANYONE, "b", null, false);
    assertThatThrownBy(() -> moves.begin(lease.id().text(), new Destination("b", 0), USER))
        .satisfies(failure ->
            assertThat(refusal(failure).reason())
                .get()
                .isInstanceOf(RejectionReason.ServersDraining.class));
  }

  @Test
  void commit_afterAProof_givesTheLeaseItsOtherGpuAndTheFormerOneIsFreeOnceItIsCleared()
      throws Exception {
    Lease lease = grant();
    LeaseMoves.Begun begun = moves.begin(lease.id().text(), new Destination("b", 0), USER);
    MoveStore records = a.store.moves();
    assertThat(records.prove(lease.id(), begun.id(), TokenHash.of("key"))).isTrue();
    assertThat(commit(lease, begun, records.sinceMillis("b"))).isEmpty();
    assertThat(commit(lease, begun, records.sinceMillis("b"))).as("again").isEmpty();
    assertThat(a.store.get(lease.id()).orElseThrow().isOn("b")).isTrue();
    assertThat(a.capacity.division(first).allocations()).as("workers live there").hasSize(1);
    timers.pass(100);
    assertThat(lease.state()).isInstanceOf(LeaseState.Gone.class);
    assertThat(a.capacity.division(first).allocations()).isEmpty();
    assertThat(a.capacity.division(second).allocations()).hasSize(1);
    MoveRecord moved = b.store.moves().get(lease.id()).orElseThrow();
    assertThat(moved.isUnderWay()).isFalse();
    assertThat(moved.sessions()).containsExactly("5e55");
    assertThat(b.store.moves().leaseOf("5e55")).contains(lease.id());
    Lease there = b.finder.find(lease.id().text()).orElseThrow();
    assertThat(there.isRemote()).isFalse();
    assertThat(a.finder.find(lease.id().text()).orElseThrow().isRemote()).isTrue();
    b.leases.release(there, Principal.ANYONE, "released");
    timers.pass(1000);
    assertThat(b.store.moves().all()).as("it goes with the lease").isEmpty();
  }

  @Test
  void commit_targetsServerWasStartedAnew_isRefused() throws Exception {
    Lease lease = grant();
    LeaseMoves.Begun begun = moves.begin(lease.id().text(), new Destination("b", 0), USER);
    assertThat(commit(lease, begun, 7)).get().asString().contains("started anew");
    assertThat(a.store.get(lease.id()).orElseThrow().isOn("a")).isTrue();
  }

  @Test
  void fail_beforeTheCommit_wins() throws Exception {
    Lease lease = grant();
    LeaseMoves.Begun begun = moves.begin(lease.id().text(), new Destination("b", 0), USER);
    b.store.moves().fail(lease.id(), begun.id(), "no worker");
    assertThat(commit(lease, begun, a.store.moves().sinceMillis("b"))).contains("no worker");
    b.store.moves().clear(lease.id(), GpuKey.of(second));
    assertThat(b.capacity.division(second).allocations()).isEmpty();
    assertThat(a.capacity.division(first).allocations()).hasSize(1);
    b.store.moves().clear(lease.id(), GpuKey.of(first));
    assertThat(a.capacity.division(first).allocations()).as("its own").hasSize(1);
    LeaseMoves.Begun again = moves.begin(lease.id().text(), new Destination("b", 0), USER);
    assertThat(again.id()).isNotEqualTo(begun.id());
  }

  @Test
  void target_isGoneForGood_itsShareIsClearedAfterAMinute() throws Exception {
    Lease lease = grant();
    a.leases.hold(lease, reason -> {});
    LeaseMoves.Begun ignored = moves.begin(lease.id().text(), new Destination("b", 0), USER);
    b.die();
    timers.pass(50_000);
    assertThat(a.store.moves().get(lease.id()).orElseThrow().isUnderWay()).isTrue();
    timers.pass(20_000);
    MoveRecord move = a.store.moves().get(lease.id()).orElseThrow();
    assertThat(move.isUnderWay()).isFalse();
    assertThat(move.result().reason()).isEqualTo("server b is gone");
    assertThat(a.capacity.division(second).allocations()).isEmpty();
    assertThat(a.store.get(lease.id()).orElseThrow().isOn("a")).isTrue();
  }

  @Test
  void fail_afterTheCommit_changesNothing() throws Exception {
    Lease lease = grant();
    LeaseMoves.Begun begun = moves.begin(lease.id().text(), new Destination("b", 0), USER);
    assertThat(commit(lease, begun, a.store.moves().sinceMillis("b"))).isEmpty();
    b.store.moves().fail(lease.id(), begun.id(), "too late");
    assertThat(b.store.moves().get(lease.id()).orElseThrow().phase())
        .isEqualTo(MoveRecord.Phase.MOVED);
  }

  @Test
  void commit_leaseHasEnded_isRefusedAndTheTargetsShareIsFreeOnceItIsCleared() throws Exception {
    Lease lease = grant();
    LeaseMoves.Begun begun = moves.begin(lease.id().text(), new Destination("b", 0), USER);
    a.leases.release(lease, Principal.ANYONE, "released");
    assertThat(commit(lease, begun, a.store.moves().sinceMillis("b")))
        .contains("the lease has ended");
    b.store.moves().clear(lease.id(), GpuKey.of(second));
    assertThat(b.capacity.division(second).allocations()).isEmpty();
    assertThat(b.store.moves().all()).isEmpty();
  }

  private Optional<String> commit(Lease lease, LeaseMoves.Begun begun, long sinceMillis)
      throws Exception {
    return a.store
        .moves()
        .commit(
            lease.id(),
            begun.id(),
            new MoveStore.Moved(List.of("5e55"), 100, 1_000_000),
            sinceMillis);
  }
}
