// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.control.v1.Cause;
import io.gpupool.server.control.ManualTimers;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.lease.lifecycle.GrantedLease;
import io.gpupool.server.lease.lifecycle.Ground;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.lease.model.LeaseHold;
import io.gpupool.server.lease.queue.QueueClient;
import io.gpupool.server.lease.usage.FormerUsage;
import io.gpupool.server.placement.GpuRequirements;
import io.gpupool.server.placement.Placement;
import io.gpupool.server.placement.PlacementTest;
import io.gpupool.server.records.LeaseSpec;
import io.gpupool.server.rejection.LeaseRefusal;
import io.gpupool.server.rejection.RefusedException;
import io.gpupool.server.rejection.RejectionReason;
import io.gpupool.server.state.LocalStore;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DrainsTest {
  private static final long GIB = 1L << 30;
  private static final String HERE = "gpu-1";
  private static final Gpu GPU = PlacementTest.gpu(HERE, 0, 8 * GIB);
  private static final Gpu OTHER = PlacementTest.gpu("gpu-2", 0, 8 * GIB);

  private final ManualTimers timers = new ManualTimers();
  private final List<String> ended = new ArrayList<>();

  /** Writes down what it is told. */
  private static final class Asker implements QueueClient {
    @SuppressWarnings("NullAway.Init") // set when it is granted
    private Lease lease;

    @SuppressWarnings("NullAway.Init") // set when it is refused
    private Cause cause;

    private String reason = "";

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
      Ground.dropHolds(granted.lease());
      lease = granted.lease();
    }

    @Override
    public void refused(LeaseRefusal refusal) {
      cause = refusal.reason().cause();
      reason = refusal.text();
    }
  }

  @Test
  void drain_serverWithLease_grantsNothingMoreAndLetsTheLeaseGoOn() throws Exception {
    Ground ground = ground(LocalStore.inMemory(), List.of(GPU));
    Lease lease = held(ground);
    ground.drains.drain(Principal.ANYONE, HERE, null, false);
    Asker impatient = ask(ground, 0);
    assertThat(impatient.cause).isEqualTo(Cause.CAUSE_DRAINING);
    assertThat(impatient.reason)
        .contains("the servers whose GPUs could serve it drain, such as that of GPU 0 of gpu-1");
    Asker waiting = ask(ground, 3_600_000);
    assertThat(waiting.cause).isNull();
    assertThat(ground.drains.state(HERE)).isEqualTo(Drains.State.DRAINING);
    timers.pass(1_000_000);
    assertThat(ended).isEmpty();

    ground.leases.end(lease, "done");
    assertThat(ground.drains.state(HERE)).isEqualTo(Drains.State.DRAINED);
    assertThat(waiting.lease).isNull();
    ground.drains.uncordon(Principal.ANYONE, HERE);
    timers.pass(1);
    assertThat(waiting.lease).isNotNull();
    assertThat(ground.drains.state(HERE)).isEqualTo(Drains.State.READY);
  }

  @Test
  void drain_deadlinePasses_leasesAreEndedAndNotBefore() throws Exception {
    Ground ground = ground(LocalStore.inMemory(), List.of(GPU));
    held(ground);
    ground.drains.drain(Principal.ANYONE, HERE, 60_000L, false);
    timers.pass(30_000);
    ground.drains.drain(Principal.ANYONE, HERE, 60_000L, false);
    timers.pass(59_999);
    assertThat(ended).isEmpty();
    timers.pass(2);
    assertThat(ended).containsExactly("server gpu-1 is drained (by anonymous), and time is up");
    assertThat(ground.drains.state(HERE)).isEqualTo(Drains.State.DRAINED);
  }

  @Test
  void drain_undoneBeforeItsDeadline_endsNothing() throws Exception {
    Ground ground = ground(LocalStore.inMemory(), List.of(GPU));
    held(ground);
    ground.drains.drain(Principal.ANYONE, HERE, 60_000L, false);
    ground.drains.uncordon(Principal.ANYONE, HERE);
    timers.pass(120_000);
    assertThat(ended).isEmpty();
  }

  @Test
  void drain_serverRestarts_stillDrainsAndEndsWhatIsLateAtOnce(@TempDir Path folder)
      throws Exception {
    try (LocalStore store = LocalStore.open(folder)) {
      Ground before = ground(store, List.of(GPU));
      held(before);
      before.drains.drain(Principal.ANYONE, HERE, 60_000L, false);
      timers.pass(1);
    }
    ManualTimers later = new ManualTimers();
    later.pass(70_000);
    try (LocalStore store = LocalStore.open(folder)) {
      Ground after = new Ground(store, later, List.of(GPU), HERE);
      after.leases.restore(FormerUsage.unknown());
      assertThat(after.leases.all()).hasSize(1);
      after.drains.start();
      later.pass(1);
      assertThat(after.leases.all()).isEmpty();
      assertThat(after.drains.state(HERE)).isEqualTo(Drains.State.DRAINED);
      assertThat(ask(after, 0).cause).isEqualTo(Cause.CAUSE_DRAINING);
    }
  }

  @Test
  void stop_serverRestarts_isForgotten(@TempDir Path folder) throws Exception {
    List<String> told = new ArrayList<>();
    try (LocalStore store = LocalStore.open(folder)) {
      Ground before = ground(store, List.of(GPU));
      Lease lease = held(before);
      Asker waiting = ask(before, 3_600_000);
      before.drains.stop(false, null, () -> told.add("empty"));
      assertThat(waiting.cause).isEqualTo(Cause.CAUSE_DRAINING);
      assertThat(before.drains.state(HERE)).isEqualTo(Drains.State.STOPPING);
      timers.pass(1000);
      assertThat(told).isEmpty();
      before.leases.end(lease, "done");
      timers.pass(1000);
      assertThat(told).containsExactly("empty");
    }
    try (LocalStore store = LocalStore.open(folder)) {
      Ground after = ground(store, List.of(GPU));
      assertThat(after.drains.state(HERE)).isEqualTo(Drains.State.READY);
      assertThat(ask(after, 0).lease).isNotNull();
    }
  }

  @Test
  void drain_oneOfTwoServers_theOtherServesAndItsOwnersAreTheOnesThatEvict() throws Exception {
    LocalStore store = LocalStore.inMemory();
    Ground first = ground(store, List.of(GPU, OTHER));
    Ground second = new Ground(store, timers, List.of(GPU, OTHER), "gpu-2");
    second.drains.start();
    first.drains.drain(Principal.ANYONE, "gpu-2", 10_000L, false);
    Lease here = held(first);
    assertThat(here.parts()).extracting(part -> part.gpu().server()).containsExactly(HERE);
    timers.pass(20_000);
    assertThat(ended).isEmpty();
    assertThat(second.drains.state("gpu-2")).isEqualTo(Drains.State.DRAINED);
    assertThat(ask(second, 0).reason).contains("on GPU 0 of gpu-1");
  }

  @Test
  void grant_serverDrainsBetweenDecisionAndCommit_isNotGranted() throws Exception {
    LocalStore store = LocalStore.inMemory();
    Ground ground = ground(store, List.of(GPU));
    GpuRequirements requirements =
        new GpuRequirements(1, new GpuRequirements.Size.Fraction(1), null, List.of());
    var placed =
        (Placement.Outcome.Placed) Placement.place(requirements, "", ground.capacity.snapshot());
    ground.drains.drain(Principal.ANYONE, HERE, null, false);
    assertThatThrownBy(() -> ground.grant(Ground.request(requirements, ""), placed.parts()))
        .isInstanceOf(RefusedException.class)
        .hasMessageContaining("drains");
    assertThat(ground.capacity.isLeased(HERE)).isFalse();
  }

  @Test
  void drain_unknownServer_saysWhichServersThereAre() {
    Ground ground = ground(LocalStore.inMemory(), List.of(GPU));
    assertThatThrownBy(() -> ground.drains.drain(Principal.ANYONE, "gpu-9", null, false))
        .isInstanceOf(RefusedException.class)
        .hasMessageContaining("no server 'gpu-9'")
        .hasMessageContaining("the pool has gpu-1");
  }

  private Ground ground(LocalStore store, List<Gpu> gpus) {
    Ground ground = new Ground(store, timers, gpus, HERE);
    ground.drains.start();
    return ground;
  }

  private Lease held(Ground ground) {
    Lease lease = Optional.ofNullable(ask(ground, 0).lease).orElseThrow();
    ground.leases.hold(lease, ended::add);
    return lease;
  }

  private static Asker ask(Ground ground, long waitMillis) {
    Asker asker = new Asker();
    GpuRequirements requirements =
        new GpuRequirements(1, new GpuRequirements.Size.Fraction(1), null, List.of());
    ground.queue.ask(
        new LeaseSpec(requirements, 0, waitMillis, Ground.HOLDER, Principal.ANYONE, ""),
        asker,
        null);
    return asker;
  }
}
