// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.capacity;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.gpu.Share;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.lease.lifecycle.Ground;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.server.placement.PlacementTest;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class CapacityTest {
  private static final long GIB = 1L << 30;

  private final Gpu gpu = PlacementTest.gpu("host:7642", 0, 8 * GIB);
  private final Ground ground = new Ground(List.of(gpu));

  @Test
  void freeInPartitions_ofAnUncutGpu_isNothing() {
    assertThat(ground.capacity.free(gpu)).isEqualTo(gpu.whole());
    assertThat(ground.capacity.freeInPartitions(gpu)).isEqualTo(Share.NONE);
  }

  @Test
  void freeInPartitions_ofACutGpu_isTheirSizeWithoutTheirLeases() throws Exception {
    Partitions.Wanted half = new Partitions.Wanted(4 * GIB, null);
    ground.partitions.create(Principal.ANYONE, gpu, "training", half, false, Set.of());
    Share eighth = new Share(GIB, Share.WHOLE_COMPUTE / 8);
    ground.take(List.of(new Part(gpu, "training", eighth, false)));
    assertThat(ground.capacity.freeInPartitions(gpu))
        .isEqualTo(new Share(3 * GIB, 3 * Share.WHOLE_COMPUTE / 8));
    assertThat(ground.capacity.free(gpu))
        .isEqualTo(new Share(7 * GIB, 7 * Share.WHOLE_COMPUTE / 8));
  }
}
