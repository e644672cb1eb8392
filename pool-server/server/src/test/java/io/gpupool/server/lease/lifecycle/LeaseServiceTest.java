// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.lifecycle;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.server.capacity.Capacity;
import io.gpupool.server.control.ManualTimers;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.identity.LeaseSecret;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.lease.model.GraceReason;
import io.gpupool.server.lease.model.LeaseHold;
import io.gpupool.server.lease.model.LeaseState;
import io.gpupool.server.lease.usage.LeaseLedger;
import io.gpupool.server.limits.LeaseLimits;
import io.gpupool.server.placement.GpuRequirements;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.placement.Placement;
import io.gpupool.server.placement.Placement.Outcome;
import io.gpupool.server.placement.PlacementTest;
import io.gpupool.server.records.LeaseSpec;
import io.gpupool.server.rejection.RefusedException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;

class LeaseServiceTest {
  private static final long GIB = 1L << 30;

  private final Gpu gpu = PlacementTest.gpu("host:7642", 0, 8 * GIB);
  private final Ground ground = new Ground(List.of(gpu));
  private final ManualTimers timers = ground.timers;
  private final Capacity capacity = ground.capacity;
  private final LeaseService leases = ground.leases;
  private final Map<LeaseId, LeaseSecret> secrets = new HashMap<>();
  private final List<String> ended = new ArrayList<>();

  @Test
  void letGo_holderComesBackInTime_leaseLives() {
    Lease lease = grant(1);
    LeaseHold first = hold(lease);
    leases.releaseHold(lease, first);
    assertThat(lease.state()).isInstanceOf(LeaseState.Grace.class);
    timers.pass(900);
    hold(lease);
    timers.pass(5000);
    assertThat(lease.state()).isInstanceOf(LeaseState.Held.class);
    assertThat(ended).isEmpty();
  }

  @Test
  void lost_holderComesBackWithinTheResumeWindow_leaseLives() {
    Lease lease = grant(1, new LeaseLimits(0, 0, 0, 5000));
    leases.loseHold(lease, hold(lease));
    timers.pass(4999);
    assertThat(lease.state()).isInstanceOf(LeaseState.Grace.class);
    hold(lease);
    timers.pass(5000);
    assertThat(lease.state()).isInstanceOf(LeaseState.Held.class);
    assertThat(ended).isEmpty();
  }

  @Test
  void lost_nobodyComesBackWithinTheResumeWindow_everythingIsFree() {
    Lease lease = grant(1, new LeaseLimits(0, 0, 0, 5000));
    leases.loseHold(lease, hold(lease));
    timers.pass(4999);
    assertThat(find(lease)).isTrue();
    timers.pass(1);
    assertThat(leases.all()).isEmpty();
    assertThat(capacity.free(gpu)).isEqualTo(gpu.whole());
  }

  @Test
  void lost_leaseHasNoResumeWindow_endsAsOneThatWasLeft() {
    Lease lease = grant(1, new LeaseLimits(0, 0, 0, 0));
    leases.loseHold(lease, hold(lease));
    timers.pass(GraceReason.SHORT_MILLIS);
    assertThat(leases.all()).isEmpty();
  }

  @Test
  void lost_leaseIsReleased_endsAtOnce() throws Exception {
    Lease lease = grant(1);
    leases.loseHold(lease, hold(lease));
    leases.release(lease, Principal.ANYONE, "done");
    assertThat(leases.all()).isEmpty();
    assertThat(capacity.free(gpu)).isEqualTo(gpu.whole());
  }

  @Test
  void letGo_oneOfTwoHolds_leaseStaysHeld() {
    Lease lease = grant(1);
    LeaseHold first = hold(lease);
    hold(lease);
    leases.releaseHold(lease, first);
    assertThat(lease.state()).isInstanceOf(LeaseState.Held.class);
  }

  @Test
  void letGo_nobodyComesBack_everythingIsFree() {
    Lease lease = grant(1);
    leases.releaseHold(lease, hold(lease));
    timers.pass(GraceReason.SHORT_MILLIS);
    assertThat(leases.all()).isEmpty();
    assertThat(capacity.free(gpu)).isEqualTo(gpu.whole());
    assertThat(find(lease)).isFalse();
  }

  @Test
  void find_wrongSecret_findsNothing() {
    Lease lease = grant(0.5);
    assertThat(ground.finder.find(lease.id().text(), "0".repeat(32))).isEmpty();
    assertThat(ground.finder.find("L99", secret(lease))).isEmpty();
    assertThat(Objects.requireNonNull(secrets.get(lease.id())).toString())
        .doesNotContain(secret(lease));
  }

  @Test
  void limits_timeLimit_endsABusyLease() {
    Lease lease = grant(0.5, new LeaseLimits(0, 30_000));
    hold(lease);
    timers.pass(29_000);
    assertThat(lease.state()).isInstanceOf(LeaseState.Held.class);
    timers.pass(1000);
    assertThat(ended).containsExactly("its time limit of 30s is reached");
    assertThat(capacity.free(gpu)).isEqualTo(gpu.whole());
  }

  @Test
  void drain_endsAllLeases() {
    grant(0.5);
    grant(0.25);
    leases.endAll("stopping");
    assertThat(leases.all()).isEmpty();
    assertThat(capacity.free(gpu)).isEqualTo(gpu.whole());
  }

  @Test
  void ledger_deadWorkersSlot_isTakenOffTheTotal() throws Exception {
    try (LeaseLedger ledger = new LeaseLedger("test", 2);
        var file =
            java.nio.channels.FileChannel.open(
                Path.of("/proc/self/fd/" + ledger.share().intValue()),
                java.nio.file.StandardOpenOption.READ,
                java.nio.file.StandardOpenOption.WRITE)) {
      var words =
          file.map(java.nio.channels.FileChannel.MapMode.READ_WRITE, 0, file.size())
              .order(java.nio.ByteOrder.nativeOrder());
      assertThat(file.size()).as("two GPUs, the host, their credit").isEqualTo(5 * 65 * 8);
      words.putLong(65 * 8, 30).putLong((65 + 1) * 8, 10).putLong((65 + 64) * 8, 20);
      words.putLong(2 * 65 * 8, 7).putLong((2 * 65 + 64) * 8, 7);
      assertThat(ledger.usedBytes(1)).isEqualTo(30);
      assertThat(ledger.usedBytes(1, 63)).isEqualTo(20);
      words.putLong(4 * 65 * 8, 6).putLong((4 * 65 + 64) * 8, 5);
      assertThat(ledger.usedBytes(1)).as("without unused credit").isEqualTo(24);
      assertThat(ledger.usedBytes(1, 63)).as("without unused credit").isEqualTo(15);
      ledger.clearSlot(63);
      assertThat(words.getLong(4 * 65 * 8)).as("credit of the others").isEqualTo(1);
      assertThat(ledger.usedBytes(1)).isEqualTo(9);
      assertThat(ledger.usedBytes(0)).isZero();
      assertThat(words.getLong(2 * 65 * 8)).as("of the host").isZero();
    }
  }

  private boolean find(Lease lease) {
    return ground.finder.find(lease.id().text(), secret(lease)).isPresent();
  }

  private String secret(Lease lease) {
    return Objects.requireNonNull(secrets.get(lease.id())).reveal();
  }

  private Lease grant(double part) {
    return grant(part, LeaseLimits.NONE);
  }

  private Lease grant(double part, LeaseLimits limits) {
    GpuRequirements requirements =
        new GpuRequirements(1, new GpuRequirements.Size.Fraction(part), null, List.of());
    Outcome.Placed placed = (Outcome.Placed) Placement.place(requirements, "", capacity.snapshot());
    try {
      GrantedLease granted =
          ground.grant(
              new LeaseSpec(requirements, 0, 0, Ground.HOLDER, Principal.ANYONE, "", limits),
              placed.parts());
      secrets.put(granted.lease().id(), granted.secret());
      return granted.lease();
    } catch (IOException | RefusedException e) {
      throw new AssertionError(e);
    }
  }

  private LeaseHold hold(Lease lease) {
    LeaseHold hold = ended::add;
    leases.hold(lease, hold);
    return hold;
  }
}
