// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.resource;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.control.v1.GrantUse;
import io.gpupool.control.v1.LeaseInfo;
import org.junit.jupiter.api.Test;

class ResourceTest {
  private static Resource lease(long ageMillis, long grantedNanos, long usedNanos) {
    return Kind.leases.resource(
        LeaseInfo.newBuilder()
            .setId("L1")
            .setAgeMillis(ageMillis)
            .addGrants(
                GrantUse.newBuilder().setGrantedGpuNanos(grantedNanos).setUsedGpuNanos(usedNanos))
            .build());
  }

  @Test
  void tag_ofALeaseThatOnlyGrewOlder_staysTheSame() {
    assertThat(lease(2, 20, 5).tag()).isEqualTo(lease(1, 10, 5).tag());
    assertThat(lease(2, 20, 6).tag()).isNotEqualTo(lease(1, 10, 5).tag());
  }
}
