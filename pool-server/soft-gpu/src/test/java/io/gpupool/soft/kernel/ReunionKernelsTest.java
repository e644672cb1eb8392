// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.kernel;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.exec.block.CompiledKernel;
import io.gpupool.soft.exec.block.KernelCode;
import io.gpupool.soft.exec.block.ThreadBlock;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Threads of a warp that went different ways run together again from where they meet. */
class ReunionKernelsTest {
  private static final int THREADS = 128;

  /** Shuffles that follow on the place where all meet. */
  private static final int SHUFFLES = 50;

  /** Counts how often a single thread is run. */
  private record Counted(KernelCode code, AtomicInteger single) implements KernelCode {
    @Override
    public int run(ThreadBlock block, int thread, int x, int y, int z, int resume) {
      single.incrementAndGet();
      return code.run(block, thread, x, y, z, resume);
    }

    @Override
    public int runRegion(ThreadBlock block, int region, int first, int x, int y, int z, int end) {
      return code.runRegion(block, region, first, x, y, z, end);
    }

    @Override
    public void runAll(ThreadBlock block) {
      code.runAll(block);
    }
  }

  /** Runs a kernel that sums up shuffles at its end; returns how often a single thread was run. */
  private static int singleRuns(String before) throws Exception {
    String ptx =
        """
        .version 8.0
        .target sm_80
        .address_size 64
        .visible .entry k(.param .u64 out)
        {
          .reg .pred %%p<8>;
          .reg .b32 %%r<20>;
          .reg .b64 %%rd<8>;
          ld.param.u64 %%rd1, [out];
          mov.u32 %%r1, %%tid.x;
          mul.wide.u32 %%rd2, %%r1, 4;
          add.s64 %%rd1, %%rd1, %%rd2;
          and.b32 %%r2, %%r1, 1;
          setp.eq.u32 %%p1, %%r2, 0;
          setp.eq.u32 %%p2, %%r1, 77;
          mov.u32 %%r3, 0;
          mov.u32 %%r4, 0;
          %s
        TURN:
          shfl.sync.bfly.b32 %%r5, %%r1, 1, 31, -1;
          add.u32 %%r4, %%r4, %%r5;
          add.u32 %%r3, %%r3, 1;
          setp.lt.u32 %%p3, %%r3, %d;
          @%%p3 bra TURN;
          st.global.u32 [%%rd1], %%r4;
          ret;
        }
        """
            .formatted(before, SHUFFLES);
    try (TestGpu gpu = TestGpu.withPtx(ptx, 1 << 20)) {
      CompiledKernel kernel = gpu.kernel("k");
      AtomicInteger single = new AtomicInteger();
      gpu.install(
          new CompiledKernel(
              kernel.name(),
              new Counted(kernel.code(), single),
              kernel.waits(),
              kernel.memory(),
              kernel.regions(),
              kernel.blockTime()));
      MemorySegment out = gpu.allocate(THREADS * 4L);

      gpu.run("k", TestGpu.blocks(1, THREADS), out);

      for (int thread = 0; thread < THREADS; thread++) {
        assertThat(out.getAtIndex(ValueLayout.JAVA_INT, thread)).isEqualTo(SHUFFLES * (thread ^ 1));
      }
      return single.get();
    }
  }

  @Test
  void warp_whoseLanesWaitedApart_runsTogetherFromTheNextOperationOfAll() throws Exception {
    String halves =
        """
        @%p1 bra EVEN;
        bar.warp.sync 0xAAAAAAAA;
        bra MET;
        EVEN:
        bar.warp.sync 0x55555555;
        MET:
        """;

    assertThat(singleRuns(halves)).isLessThanOrEqualTo(3 * THREADS);
  }

  @Test
  void block_withAWarpApart_runsTogetherFromTheBarrierOnWhoeverComesLast() throws Exception {
    // Thread 77 comes to the barrier after threads of a higher number.
    String late = "@!%p2 bra MET; nanosleep.u32 1; nanosleep.u32 1; MET: bar.sync 0;";

    assertThat(singleRuns(late)).isLessThanOrEqualTo(THREADS + 3);
  }

  @Test
  void block_atABarrierThatReduces_runsTogetherAfterwards() throws Exception {
    assertThat(singleRuns("bar.red.or.pred %p4, 0, %p1;")).isZero();
  }

  @Test
  void warp_thatAsksForItsActiveLanes_runsTogetherAfterwards() throws Exception {
    assertThat(singleRuns("activemask.b32 %r7;")).isZero();
  }
}
