// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.queue;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.server.capacity.Partitions;
import io.gpupool.server.gpu.LeaseClass;
import io.gpupool.server.identity.HolderName;
import io.gpupool.server.identity.LeasePod;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.lease.lifecycle.GrantedLease;
import io.gpupool.server.lease.lifecycle.Ground;
import io.gpupool.server.lease.model.LeaseHold;
import io.gpupool.server.limits.LeaseLimits;
import io.gpupool.server.placement.GpuRequirements;
import io.gpupool.server.placement.PlacementTest;
import io.gpupool.server.records.LeaseOwner;
import io.gpupool.server.records.LeaseSpec;
import io.gpupool.server.records.Quota;
import io.gpupool.server.rejection.LeaseRefusal;
import io.gpupool.server.rejection.RejectionReason;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Requests that a cluster's controller, an admin, makes for pods of several namespaces. */
class ShortageTest {
  private static final long GIB = 1L << 30;
  private static final GpuRequirements.Size WHOLE = new GpuRequirements.Size.Fraction(1);

  private final Ground ground = new Ground(List.of(PlacementTest.gpu("host:7642", 0, 8 * GIB)));

  @Test
  void pod_gpuIsHeldByAnotherNamespace_isNotToldByWhom() {
    ask("kubernetes/one", "team", "holder", WHOLE);
    assertThat(ask("kubernetes/one", "other", "spy", WHOLE))
        .contains(", in use by lease L1 (not of this namespace, 8.0 GiB")
        .doesNotContain("holder", "team", "-m", "pid");
  }

  @Test
  void pod_gpuIsHeldByNamespaceOfTheSameNameInAnotherCluster_isNotToldByWhom() {
    ask("kubernetes/one", "team", "holder", WHOLE);
    assertThat(ask("kubernetes/two", "team", "next", WHOLE)).doesNotContain("holder");
  }

  @Test
  void pod_gpuIsHeldByItsOwnNamespace_isToldByWhichPod() {
    ask("kubernetes/one", "team", "holder", WHOLE);
    assertThat(ask("kubernetes/one", "team", "next", new GpuRequirements.Size.Memory(GIB)))
        .contains("in use by lease L1 (pod team/holder, 8.0 GiB");
  }

  @Test
  void pod_asksForMoreThanThereIs_isToldWhatTheLargestIs() {
    assertThat(ask("kubernetes/one", "team", "large", new GpuRequirements.Size.Memory(9 * GIB)))
        .contains("the largest GPU that matches is GPU 0 of host:7642");
  }

  @Test
  void gpu_partitionIsCut_reasonNamesItAndTheFiguresAddUp() throws Exception {
    cut("training", 5, "blue");
    ask(null, memory(2));
    assertThat(ask(null, memory(2)))
        .contains(
            "largest free fraction is 1.0 GiB and 12.5 % compute on GPU 0 of host:7642, in use by")
        .endsWith(
            "2.0 GiB and 25 % compute), 5.0 GiB and 62.5 % compute reserved for partition"
                + " 'training'");
  }

  @Test
  void pod_partitionIsReservedForAnotherTenant_isToldHowMuchAndNotItsName() throws Exception {
    cut("secret", 5, "blue");
    ask("kubernetes/one", "team", "holder", memory(2));
    assertThat(ask("kubernetes/one", "team", "next", memory(2)))
        .endsWith("5.0 GiB and 62.5 % compute reserved for a partition of another tenant");
  }

  private static GpuRequirements.Size memory(int gibibytes) {
    return new GpuRequirements.Size.Memory(gibibytes * GIB);
  }

  private void cut(String name, int gibibytes, String tenant) throws Exception {
    ground.tenants.create(Principal.ANYONE, tenant, Quota.UNLIMITED);
    Partitions.Wanted size = new Partitions.Wanted(gibibytes * GIB, null);
    ground.partitions.create(
        Principal.ANYONE, ground.capacity.gpus().getFirst(), name, size, false, Set.of(tenant));
  }

  private String ask(String user, String namespace, String pod, GpuRequirements.Size size) {
    return ask(
        new LeasePod("uid-" + pod, namespace, pod, List.of("main"), null),
        new HolderName(namespace + "/" + pod, 0, "main", user),
        size);
  }

  private String ask(@Nullable LeasePod pod, GpuRequirements.Size size) {
    return ask(pod, Ground.HOLDER, size);
  }

  private String ask(@Nullable LeasePod pod, HolderName holder, GpuRequirements.Size size) {
    Asker asker = new Asker();
    LeaseSpec request =
        new LeaseSpec(
            new GpuRequirements(1, size, null, List.of()),
            0,
            0,
            new LeaseOwner(holder, "", pod),
            Principal.ANYONE,
            LeaseLimits.NONE,
            LeaseClass.BATCH);
    var unused = ground.queue.ask(request, asker, null);
    return asker.reason;
  }

  private static final class Asker implements QueueClient {
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
    }

    @Override
    public void refused(LeaseRefusal refusal) {
      reason = refusal.text();
    }
  }
}
