// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.history;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.lease.lifecycle.GrantedLease;
import io.gpupool.server.lease.lifecycle.Ground;
import io.gpupool.server.placement.GpuRequirements;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.server.placement.PlacementTest;
import io.gpupool.server.records.LeaseSpec;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class UseHistoryTest {
  private static final long SECOND = 1_000_000_000;

  private final Gpu gpu = PlacementTest.gpu("host:7642", 0, 1L << 30);
  private final Ground ground = new Ground(List.of(gpu));
  private final List<Map<String, Map<Window, List<Sample>>>> saved = new ArrayList<>();
  private final UseHistory history =
      new UseHistory(List.of(gpu), ground.leases, ground.timers, Map.of(), saved::add);

  @TempDir private Path folder;

  private GrantedLease grant(String tenant, double part) throws Exception {
    LeaseSpec request =
        Ground.request(
            new GpuRequirements(1, new GpuRequirements.Size.Fraction(part), null, List.of()),
            tenant);
    return ground.grant(request, parts(request));
  }

  private List<Part> parts(LeaseSpec request) {
    return List.of(new Part(gpu, null, request.requirements().shareOf(gpu), false));
  }

  private List<Sample> hour() {
    return history.of(gpu.uuid(), Window.hour, tenant -> true).orElseThrow().samples();
  }

  @Test
  void sample_everyTenSeconds_hasWhatEachLeaseWasGranted() throws Exception {
    history.start();
    GrantedLease half = grant("a", 0.5);
    ground.timers.pass(5000);
    GrantedLease quarter = grant("b", 0.25);
    ground.timers.pass(15_000);
    assertThat(hour()).hasSize(2);
    assertThat(hour().getFirst().portions())
        .extracting(portion -> portion.lease().id())
        .containsExactly(half.lease().id().text(), quarter.lease().id().text());
    assertThat(hour().getFirst().portions())
        .extracting(LeaseSample::grantedNanos)
        .containsExactly(5 * SECOND, 5 * SECOND / 4);
    assertThat(hour().getLast().portions())
        .extracting(LeaseSample::grantedNanos)
        .containsExactly(5 * SECOND, 10 * SECOND / 4);
    assertThat(hour().getLast().portions().getFirst().grantedBytes()).isEqualTo(1L << 29);
    assertThat(hour().getLast().portions().getFirst().lease())
        .isEqualTo(
            new LeaseLabel(half.lease().id().text(), "a", Ground.HOLDER.program(), "ann@box"));
  }

  @Test
  void sample_ofALeaseThatHasEndedSince_hasItsLastPartWithoutMemory() throws Exception {
    history.start();
    GrantedLease lease = grant("a", 0.5);
    ground.timers.pass(4000);
    ground.leases.release(lease.lease(), Principal.ANYONE, "done");
    ground.timers.pass(16_000);
    assertThat(hour()).hasSize(2);
    assertThat(hour().getFirst().portions())
        .containsExactly(
            new LeaseSample(
                new LeaseLabel(lease.lease().id().text(), "a", Ground.HOLDER.program(), "ann@box"),
                2 * SECOND,
                0,
                0,
                0,
                0));
    assertThat(hour().getLast().portions()).isEmpty();
  }

  @Test
  void save_onceAMinuteAndAtTheEnd_isAllThereIs() {
    history.start();
    ground.timers.pass(59_000);
    assertThat(saved).isEmpty();
    ground.timers.pass(126_000);
    assertThat(saved).hasSize(3);
    history.close();
    assertThat(saved).hasSize(4);
    assertThat(Objects.requireNonNull(saved.getLast().get(gpu.uuid())).get(Window.hour))
        .hasSize(19);
  }

  @Test
  void open_afterARestart_goesOnWithWhatThereWas() {
    UseHistory first =
        UseHistory.open(List.of(gpu), ground.leases, ground.timers, folder, Runnable::run);
    first.start();
    ground.timers.pass(100_000);
    first.close();
    UseHistory second =
        UseHistory.open(List.of(gpu), ground.leases, ground.timers, folder, Runnable::run);
    assertThat(second.of(gpu.uuid(), Window.hour, tenant -> true).orElseThrow().samples())
        .hasSize(10);
    assertThat(second.of("GPU-of-another-server", Window.hour, tenant -> true)).isEmpty();
  }
}
