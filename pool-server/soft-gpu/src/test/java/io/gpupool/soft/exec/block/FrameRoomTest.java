// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.block;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.exec.launch.GridServices;
import io.gpupool.soft.exec.launch.Launch;
import io.gpupool.soft.kernel.TestGpu;
import io.gpupool.soft.memory.MemoryMap;
import io.gpupool.soft.memory.Pages;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;

class FrameRoomTest {
  private static final String RECURSIVE =
      """
      .version 8.0
      .target sm_90
      .address_size 64
      .func f(.param .align 8 .b8 n[4000]) {
        .reg .b64 %n;
        ld.param.b64 %n, [n+3992];
        {
          .param .align 8 .b8 p0[4000];
          st.param.b64 [p0+3992], %n;
          call f, (p0);
        }
        ret;
      }
      .visible .entry k() {
        {
          .param .align 8 .b8 p0[4000];
          st.param.b64 [p0+3992], 1;
          call f, (p0);
        }
        ret;
      }
      """;

  @Test
  void frames_ofAThread_haveRoomForWhatTheInnermostFunctionPasses() throws Exception {
    try (TestGpu gpu = TestGpu.withPtx(RECURSIVE, 1 << 20);
        Pages memory = Pages.map(1 << 20);
        MemoryMap map = new MemoryMap(memory.address(), memory.sizeBytes())) {
      CompiledKernel kernel = gpu.kernel("k");
      Launch launch = TestGpu.blocks(1, 64);
      GridServices services = GridServices.printing(_ -> {});
      Grid grid = new Grid(kernel, launch, MemorySegment.NULL, map, services, 1);
      ThreadBlock block = BlockCluster.of(grid, new BlockPool(0)).running();
      try {
        long activations = kernel.memory().maxDepth();
        long ofCallee = kernel.memory().frameBytes();

        assertThat(ofCallee).isGreaterThanOrEqualTo(4000);
        for (int thread = 0; thread < 63; thread++) {
          assertThat(block.frame(thread + 1) - block.frame(thread))
              .isGreaterThanOrEqualTo(activations * kernel.memory().frameBytes() + ofCallee);
        }
      } finally {
        block.release();
        grid.release();
      }
    }
  }
}
