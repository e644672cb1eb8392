// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.move;

import static io.gpupool.server.lease.move.TwoServers.GIB;
import static io.gpupool.server.lease.move.TwoServers.RESUMABLE;
import static io.gpupool.server.lease.move.TwoServers.USER;
import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.server.control.ManualTimers;
import io.gpupool.server.gpu.GpuKey;
import io.gpupool.server.gpu.Share;
import io.gpupool.server.lease.lifecycle.GrantedLease;
import io.gpupool.server.lease.lifecycle.Ground;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.lease.model.LeaseHold;
import io.gpupool.server.lease.queue.QueueClient;
import io.gpupool.server.lease.store.MoveStore;
import io.gpupool.server.limits.LeaseLimits;
import io.gpupool.server.placement.GpuRequirements;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.server.records.LeaseSpec;
import io.gpupool.server.records.MoveRecord;
import io.gpupool.server.rejection.LeaseRefusal;
import io.gpupool.server.rejection.RejectionReason;
import io.gpupool.server.select.Selector;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Requests that fit the pool but no GPU of it; the test ends the moves that are made for them. */
class DefragmenterTest {
  private static final long HOUR_MILLIS = 3_600_000;

  private final TwoServers pool = new TwoServers();
  private final ManualTimers timers = pool.timers;
  private final Ground a = pool.a;
  private final Ground b = pool.b;

  DefragmenterTest() throws Exception {}

  /** Notes what it is told. */
  private static final class Asker implements QueueClient {
    private String reason = "";
    private @Nullable Lease lease;

    @Override
    public LeaseHold hold() {
      return reason -> {};
    }

    @Override
    public void queued(int place, RejectionReason why) {
      reason = why.text();
    }

    @Override
    public void granted(GrantedLease granted) {
      lease = granted.lease();
    }

    @Override
    public void refused(LeaseRefusal refusal) {
      reason = refusal.text();
    }
  }

  private static LeaseSpec spec(double part, LeaseLimits limits, long waitMillis) {
    GpuRequirements requirements =
        new GpuRequirements(1, new GpuRequirements.Size.Fraction(part), null, List.of());
    return new LeaseSpec(requirements, 0, waitMillis, Ground.HOLDER, USER, "blue", limits);
  }

  /** Has half of both GPUs taken, that of the first server by a lease. */
  private Lease takeHalf(LeaseLimits limits) throws Exception {
    b.take(List.of(new Part(pool.second, null, new Share(4 * GIB, 5000), false)));
    Lease lease = pool.grant(spec(0.5, limits, 0));
    a.leases.hold(lease, reason -> {});
    return lease;
  }

  private Asker ask() {
    Asker asker = new Asker();
    GpuRequirements requirements =
        new GpuRequirements(
            1, new GpuRequirements.Size.Fraction(1), null, List.of(Selector.in("server", "a")));
    var unused =
        a.queue.ask(
            new LeaseSpec(
                requirements, 0, 24 * HOUR_MILLIS, Ground.HOLDER, USER, "blue", LeaseLimits.NONE),
            asker,
            null);
    return asker;
  }

  private Map<LeaseId, MoveRecord> preparing() {
    return a.store.moves().all().entrySet().stream()
        .filter(move -> move.getValue().isPreparing())
        .collect(Collectors.toMap(Map.Entry::getKey, Map.Entry::getValue));
  }

  private void commit(Lease lease) throws Exception {
    MoveStore moves = a.store.moves();
    assertThat(
            moves.commit(
                lease.id(),
                preparing().get(lease.id()).id(),
                new MoveStore.Moved(List.of(), 0, 0),
                moves.sinceMillis("b")))
        .isEmpty();
    moves.clear(lease.id(), GpuKey.of(pool.first));
    a.queue.dispatch();
  }

  private void fail(Lease lease) throws Exception {
    MoveStore moves = a.store.moves();
    moves.fail(lease.id(), preparing().get(lease.id()).id(), "it has a page-locked array");
    moves.clear(lease.id(), GpuKey.of(pool.second));
  }

  @Test
  void request_thatFitsOnceALeaseHasMoved_isToldWhichAndMovesNothing() throws Exception {
    Lease lease = takeHalf(RESUMABLE);
    assertThat(ask().reason).endsWith("; it fits once " + lease.id() + " has moved to b/0");
    timers.pass(60_000);
    assertThat(a.store.moves().all()).isEmpty();
  }

  @Test
  void request_noLeaseCanMoveFor_isToldOfNone() throws Exception {
    takeHalf(new LeaseLimits(0, 0, 0, 0));
    assertThat(ask().reason).contains("largest free fraction").doesNotContain("it fits once");
  }

  @Test
  void requestThatWaits_withABudget_getsTheRoomOfALeaseThatMoves() throws Exception {
    a.defragmenter.start(a.queue, 1);
    Lease lease = takeHalf(RESUMABLE);
    Asker asker = ask();
    timers.pass(3000);
    assertThat(preparing()).as("it may end soon by itself").isEmpty();
    timers.pass(4000);
    assertThat(preparing()).containsOnlyKeys(lease.id());
    assertThat(preparing().get(lease.id()).target().gpu()).isEqualTo(GpuKey.of(pool.second));
    assertThat(asker.lease).isNull();
    commit(lease);
    assertThat(asker.lease).isNotNull();
  }

  @Test
  void move_thatFails_isNotMadeAgainForAWhile() throws Exception {
    a.defragmenter.start(a.queue, 10);
    Lease lease = takeHalf(RESUMABLE);
    Asker asker = ask();
    timers.pass(7000);
    fail(lease);
    timers.pass(3000);
    assertThat(preparing()).isEmpty();
    timers.pass(4000);
    assertThat(preparing()).containsOnlyKeys(lease.id());
    commit(lease);
    assertThat(asker.lease).isNotNull();
  }

  @Test
  void moves_afterTheBudgetOfAnHour_waitForTheNext() throws Exception {
    a.defragmenter.start(a.queue, 1);
    Lease lease = takeHalf(RESUMABLE);
    ask();
    timers.pass(7000);
    fail(lease);
    timers.pass(HOUR_MILLIS / 2);
    assertThat(preparing()).isEmpty();
    timers.pass(HOUR_MILLIS / 2);
    assertThat(preparing()).containsOnlyKeys(lease.id());
  }
}
