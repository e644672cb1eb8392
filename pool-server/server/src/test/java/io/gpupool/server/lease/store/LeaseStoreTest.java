// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.server.control.ManualTimers;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.gpu.LeaseClass;
import io.gpupool.server.gpu.Share;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.lease.lifecycle.GrantedLease;
import io.gpupool.server.lease.lifecycle.Ground;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.lease.model.GraceReason;
import io.gpupool.server.lease.model.LeaseState;
import io.gpupool.server.lease.usage.FormerUsage;
import io.gpupool.server.limits.LeaseLimits;
import io.gpupool.server.placement.Allocation;
import io.gpupool.server.placement.GpuRequirements;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.placement.Placement;
import io.gpupool.server.placement.Placement.Outcome;
import io.gpupool.server.placement.PlacementTest;
import io.gpupool.server.records.LeaseOwner;
import io.gpupool.server.records.LeaseSpec;
import io.gpupool.server.records.Quota;
import io.gpupool.server.records.RecordTypes;
import io.gpupool.server.rejection.RefusedException;
import io.gpupool.server.state.LocalStore;
import io.gpupool.server.state.StateException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.Test;

class LeaseStoreTest {
  private static final long GIB = 1L << 30;
  private final Gpu first = PlacementTest.gpu("host:7642", 0, 8 * GIB);
  private final Gpu second = PlacementTest.gpu("host:7642", 1, 8 * GIB);

  /** Three servers that grant from the same GPUs at once, each seeing what the others did. */
  @Test
  void grant_severalServersAtOnce_noGpuIsGrantedTwiceAndNoQuotaPassed() throws Exception {
    LocalStore store = LocalStore.inMemory();
    List<Gpu> gpus = List.of(first, second);
    Ground admin = new Ground(store, new ManualTimers(), gpus, "admin");
    admin.tenants.create(Principal.ANYONE, "blue", new Quota(null, null, 3, null));
    List<String> wrong = new ArrayList<>();
    store.watch("", changes -> check(admin, gpus, wrong));
    List<Callable<Integer>> servers = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      int seed = i;
      servers.add(() -> work(new Ground(store, new ManualTimers(), gpus, "s" + seed), seed));
    }
    int granted = 0;
    try (ExecutorService threads = Executors.newFixedThreadPool(3)) {
      for (var done : threads.invokeAll(servers)) {
        granted += done.get();
      }
    }
    assertThat(wrong).isEmpty();
    assertThat(granted).isGreaterThan(200);
    assertThat(admin.records.all(RecordTypes.GRANTS)).isEmpty();
    assertThat(admin.records.all(RecordTypes.DIVISIONS)).isEmpty();
    assertThat(admin.records.all(RecordTypes.USAGES)).isEmpty();
  }

  private static int work(Ground server, int seed) throws Exception {
    Random random = new Random(seed);
    List<Lease> held = new ArrayList<>();
    int granted = 0;
    for (int i = 0; i < 300; i++) {
      if (random.nextInt(3) == 0 && !held.isEmpty()) {
        server.leases.end(held.remove(random.nextInt(held.size())), "done");
        continue;
      }
      GpuRequirements requirements =
          new GpuRequirements(
              1 + random.nextInt(2),
              new GpuRequirements.Size.Fraction((1 + random.nextInt(50)) / 100.0),
              null,
              List.of());
      String tenant = random.nextBoolean() ? "blue" : "";
      if (Placement.place(requirements, tenant, server.capacity.snapshot())
          instanceof Outcome.Placed(List<Placement.Part> parts)) {
        try {
          held.add(server.grant(Ground.request(requirements, tenant), parts).lease());
          granted++;
        } catch (RefusedException e) {
          assertThat(e.why()).isEqualTo(RefusedException.Why.CHANGED);
        }
      }
    }
    held.forEach(lease -> server.leases.end(lease, "done"));
    return granted;
  }

  private static void check(Ground seen, List<Gpu> gpus, List<String> wrong) {
    for (Gpu gpu : gpus) {
      Share all =
          seen.capacity.division(gpu).allocations().stream()
              .map(Allocation::share)
              .reduce(Share.NONE, Share::plus);
      if (!gpu.whole().covers(all)) {
        wrong.add(gpu.label() + " is granted to " + all);
      }
    }
    if (seen.tenants.use("blue").leases() > 3) {
      wrong.add("blue holds " + seen.tenants.use("blue"));
    }
  }

  @Test
  void restore_afterARestart_holderComesBackWithItsSecretOrTheLeaseEnds() throws Exception {
    LocalStore store = LocalStore.inMemory();
    Ground before = new Ground(store, new ManualTimers(), List.of(first), "host:7642");
    GrantedLease kept = grant(before, 0.5);
    GrantedLease left = grant(before, 0.25);
    LeaseId ending = grant(before, 0.25).lease().id();
    before.store.free(ending, s -> false, "killed while its workers were dying");

    Ground after = new Ground(store, new ManualTimers(), List.of(first), "host:7642");
    after.leases.restore(FormerUsage.unknown());
    assertThat(after.leases.all())
        .extracting(lease -> lease.id())
        .containsExactly(kept.lease().id(), left.lease().id());
    assertThat(after.capacity.free(first)).isEqualTo(new Share(2 * GIB, 2500));
    Lease back = after.finder.find(kept.lease().id().text(), kept.secret().reveal()).orElseThrow();
    assertThat(after.finder.find(kept.lease().id().text(), left.secret().reveal())).isEmpty();
    after.leases.hold(back, reason -> {});
    after.timers.pass(GraceReason.LONG_MILLIS);
    assertThat(after.leases.all()).containsExactly(back);
    assertThat(after.capacity.free(first)).isEqualTo(new Share(4 * GIB, 5000));
    assertThat(grant(after, 0.25).lease().id().text())
        .isNotIn(kept.lease().id().text(), left.lease().id().text(), ending.text());
  }

  @Test
  void restore_afterARestart_leasesAreOfTheirClass() throws Exception {
    LocalStore store = LocalStore.inMemory();
    Ground before = new Ground(store, new ManualTimers(), List.of(first), "host:7642");
    LeaseId batch = grant(before, 0.5).lease().id();
    LeaseId serving = grant(before, 0.25, LeaseClass.LATENCY).lease().id();

    Ground after = new Ground(store, new ManualTimers(), List.of(first), "host:7642");
    after.leases.restore(FormerUsage.unknown());
    assertThat(after.finder.find(batch.text()).orElseThrow().leaseClass())
        .isEqualTo(LeaseClass.BATCH);
    assertThat(after.finder.find(serving.text()).orElseThrow().leaseClass())
        .isEqualTo(LeaseClass.LATENCY);
  }

  @Test
  void restore_gpuIsGone_itsLeasesAre() throws Exception {
    LocalStore store = LocalStore.inMemory();
    grant(new Ground(store, new ManualTimers(), List.of(first), "host:7642"), 0.5);
    Ground after = new Ground(store, new ManualTimers(), List.of(second), "host:7642");
    after.leases.restore(FormerUsage.unknown());
    assertThat(after.leases.all()).isEmpty();
    assertThat(after.records.all(RecordTypes.GRANTS)).isEmpty();
    assertThat(after.records.all(RecordTypes.DIVISIONS)).isEmpty();
  }

  @Test
  void diskFull_grantsAndReleasesAreRefusedAndEndingsAreMadeUpFor() throws Exception {
    FullDisk disk = new FullDisk(LocalStore.inMemory());
    Ground ground = new Ground(disk, new ManualTimers(), List.of(first), "host:7642");
    GrantedLease granted = grant(ground, 0.5);
    disk.setFull(true);
    assertThat(attempt(() -> grant(ground, 0.25))).isInstanceOf(StateException.class);
    assertThat(
            attempt(() -> {
              ground.leases.release(granted.lease(), Principal.ANYONE, "released");
              return null;
            }))
        .isInstanceOf(StateException.class);
    assertThat(granted.lease().state()).isInstanceOf(LeaseState.Held.class);
    assertThat(ground.capacity.free(first)).isEqualTo(new Share(4 * GIB, 5000));
    ground.leases.end(granted.lease(), "its holder is gone");
    assertThat(granted.lease().state()).isInstanceOf(LeaseState.Ending.class);
    assertThat(ground.capacity.free(first)).isEqualTo(new Share(4 * GIB, 5000));
    ground.timers.pass(5000);
    disk.setFull(false);
    ground.timers.pass(1000);
    assertThat(ground.capacity.free(first)).isEqualTo(first.whole());
    assertThat(ground.leases.all()).isEmpty();
  }

  @Test
  void restore_afterARestart_leasesHaveTheirResumeWindows() throws Exception {
    LocalStore store = LocalStore.inMemory();
    Ground before = new Ground(store, new ManualTimers(), List.of(first), "host:7642");
    grant(before, 0.25, LeaseClass.BATCH, new LeaseLimits(0, 0, 0, 0));
    grant(before, 0.25, LeaseClass.BATCH, new LeaseLimits(0, 0, 0, 300_000));
    grant(before, 0.25, LeaseClass.BATCH, LeaseLimits.NONE);

    Ground after = new Ground(store, new ManualTimers(), List.of(first), "host:7642");
    after.leases.restore(FormerUsage.unknown());
    assertThat(after.leases.all())
        .extracting(lease -> lease.resumeWindowMillis())
        .containsExactly(0L, 300_000L, 0L);
  }

  private static Throwable attempt(Callable<?> action) {
    try {
      action.call();
      return new AssertionError("nothing was thrown");
    } catch (Exception e) {
      return e;
    }
  }

  private static GrantedLease grant(Ground ground, double part) throws Exception {
    return grant(ground, part, LeaseClass.BATCH);
  }

  private static GrantedLease grant(Ground ground, double part, LeaseClass leaseClass)
      throws Exception {
    return grant(ground, part, leaseClass, LeaseLimits.NONE);
  }

  private static GrantedLease grant(
      Ground ground, double part, LeaseClass leaseClass, LeaseLimits limits) throws Exception {
    GpuRequirements requirements =
        new GpuRequirements(1, new GpuRequirements.Size.Fraction(part), null, List.of());
    Outcome.Placed placed =
        (Outcome.Placed) Placement.place(requirements, "", ground.capacity.snapshot());
    LeaseSpec request =
        new LeaseSpec(
            requirements,
            0,
            0,
            new LeaseOwner(Ground.HOLDER, "", null),
            Principal.ANYONE,
            limits,
            leaseClass);
    return ground.grant(request, placed.parts());
  }
}
