// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.exec.block.CompiledKernel;
import io.gpupool.soft.exec.launch.GridServices;
import io.gpupool.soft.exec.launch.PrintfSink;
import io.gpupool.soft.kernel.TestGpu;
import io.gpupool.soft.memory.MemoryMap;
import io.gpupool.soft.memory.Pages;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Worker threads and the grids that they find. */
@Timeout(60)
final class GridRunnerTest {
  private static final String KERNELS =
      """
      .version 8.0
      .target sm_70
      .address_size 64
      .extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 arguments);
      .visible .entry prints()
      {
        .local .align 4 .b8 text[4];
        .reg .b64 %text;
        .reg .b32 %r;
        mov.u64 %text, text;
        cvta.local.u64 %text, %text;
        st.b32 [%text], 0x21;
        call.uni (%r), vprintf, (%text, 0);
        ret;
      }
      .visible .entry empty() { ret; }
      """;

  @Test
  void grid_thatABlockStarts_isRunByAnotherThreadMeanwhile() throws Exception {
    CompletableFuture<Boolean> ran = new CompletableFuture<>();
    try (TestGpu gpu = TestGpu.withPtx(KERNELS, 1 << 20);
        Pages memory = Pages.map(1 << 20);
        MemoryMap map = new MemoryMap(memory.address(), memory.sizeBytes());
        GridRunner runner = new GridRunner(2)) {
      PrintfSink startsAnother =
          _ -> {
            try {
              // The other thread goes to sleep: only then does it have to be woken.
              Thread.sleep(50);
              start(runner, gpu.kernel("empty"), map, _ -> {})
                  .completion()
                  .get(20, TimeUnit.SECONDS);
              ran.complete(true);
            } catch (Exception e) {
              ran.completeExceptionally(e);
            }
          };

      start(runner, gpu.kernel("prints"), map, startsAnother).completion().get();

      assertThat(ran).isCompletedWithValue(true);
    }
  }

  private static GridExecution start(
      GridRunner runner, CompiledKernel kernel, MemoryMap map, PrintfSink sink) {
    return runner.start(
        kernel, TestGpu.blocks(1, 1), MemorySegment.NULL, map, GridServices.printing(sink));
  }
}
