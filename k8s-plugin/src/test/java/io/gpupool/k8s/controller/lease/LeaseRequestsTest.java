// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller.lease;

import static io.gpupool.control.v1.LeaseClass.LEASE_CLASS_BATCH;
import static io.gpupool.control.v1.LeaseClass.LEASE_CLASS_LATENCY;
import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.client.lease.GpuSelectors;
import io.gpupool.control.v1.Gang;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.k8s.controller.options.ControllerOptions;
import io.gpupool.k8s.controller.pod.PodKey;
import io.gpupool.k8s.request.GpuRequest;
import io.gpupool.k8s.request.LeaseClass;
import io.gpupool.k8s.request.PodGang;
import io.gpupool.k8s.request.PodRequest;
import java.math.BigDecimal;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class LeaseRequestsTest {
  private static final GpuRequest HALF =
      new GpuRequest(1, new GpuRequest.Size.Fraction(new BigDecimal("0.5")), 30);

  private final LeaseRequests requests =
      new LeaseRequests(new byte[32], ControllerOptions.of("east"));

  private LeaseRequest of(LeaseClass leaseClass) {
    return of(leaseClass, null);
  }

  private LeaseRequest of(LeaseClass leaseClass, @Nullable Long resumeWindowMillis) {
    return of(leaseClass, resumeWindowMillis, null);
  }

  private LeaseRequest of(
      LeaseClass leaseClass, @Nullable Long resumeWindowMillis, @Nullable PodGang gang) {
    return requests.of(
        new PodKey("uid-1", "team", "serve"),
        new PodRequest(
            Map.of("main", HALF),
            Map.of("model", "*H100*"),
            0,
            leaseClass,
            resumeWindowMillis,
            gang),
        new RequiredLease("main", HALF, List.of("main"), true, true),
        "team",
        5);
  }

  @Test
  void request_isForWhatTheContainerAsksFor() {
    LeaseRequest request = of(LeaseClass.BATCH);
    assertThat(request.getFraction()).isEqualTo(0.5);
    assertThat(request.getComputePercent()).isEqualTo(30);
    assertThat(request.getSelectorsList()).containsExactly(GpuSelectors.of("model", "*H100*"));
    assertThat(request.getPod().getContainersList()).containsExactly("main");
  }

  @Test
  void request_isOfThePodsClass() {
    assertThat(of(LeaseClass.BATCH).getClass_()).isEqualTo(LEASE_CLASS_BATCH);
    assertThat(of(LeaseClass.LATENCY).getClass_()).isEqualTo(LEASE_CLASS_LATENCY);
  }

  @Test
  void request_isOfThePodsGangInItsNamespace() {
    assertThat(of(LeaseClass.BATCH).hasGang()).isFalse();
    assertThat(of(LeaseClass.BATCH, null, new PodGang("train", 2)).getGang())
        .isEqualTo(Gang.newBuilder().setName("team/train").setSize(2).build());
  }

  @Test
  void request_hasThePodsResumeWindow() {
    assertThat(of(LeaseClass.BATCH).hasResumeWindowMillis()).isFalse();
    LeaseRequest none = of(LeaseClass.BATCH, 0L);
    assertThat(none.hasResumeWindowMillis()).isTrue();
    assertThat(none.getResumeWindowMillis()).isZero();
    assertThat(of(LeaseClass.BATCH, 300_000L).getResumeWindowMillis()).isEqualTo(300_000);
  }
}
