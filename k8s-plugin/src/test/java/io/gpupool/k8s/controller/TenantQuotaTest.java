// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.control.v1.Quota;
import io.gpupool.k8s.request.Names;
import java.util.Map;
import org.junit.jupiter.api.Test;

class TenantQuotaTest {
  @Test
  void namespace_saysNothing_isATenantOfItsNameWithoutQuota() {
    TenantQuota said = TenantQuota.of("team", Map.of("other", "x"));
    assertThat(said.tenant()).isEqualTo("team");
    assertThat(said.quota()).isNull();
    assertThat(said.problem()).isNull();
  }

  @Test
  void namespace_saysAll_isTakenAsWritten() {
    TenantQuota said =
        TenantQuota.of(
            "team",
            Map.of(
                Names.TENANT, "research",
                Names.QUOTA_GPUS, "2500m",
                Names.QUOTA_MEMORY, "80Gi",
                Names.QUOTA_LEASES, "10"));
    assertThat(said.tenant()).isEqualTo("research");
    assertThat(said.quota())
        .isEqualTo(Quota.newBuilder().setGpus(2.5).setMemoryBytes(80L << 30).setLeases(10).build());
  }

  @Test
  void namespace_saysWhatMakesNoSense_hasAProblem() {
    Map<String, String> wrong =
        Map.of(
            Names.TENANT, "No Name",
            Names.QUOTA_GPUS, "-1",
            Names.QUOTA_MEMORY, "0.5",
            Names.QUOTA_LEASES, "1.5");
    wrong.forEach((name, value) -> {
      TenantQuota said = TenantQuota.of("team", Map.of(name, value));
      assertThat(said.problem()).contains("team", name, value);
      assertThat(said.quota()).isNull();
    });
  }
}
