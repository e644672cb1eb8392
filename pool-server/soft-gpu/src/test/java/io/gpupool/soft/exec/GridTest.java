// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.exec.block.BlockPool;
import io.gpupool.soft.exec.block.CompiledKernel;
import io.gpupool.soft.exec.block.Grid;
import io.gpupool.soft.exec.launch.DeviceTime;
import io.gpupool.soft.exec.launch.GridServices;
import io.gpupool.soft.exec.launch.KernelFaultException;
import io.gpupool.soft.exec.launch.Launch;
import io.gpupool.soft.exec.runtime.DeviceRuntime;
import io.gpupool.soft.kernel.TestGpu;
import io.gpupool.soft.memory.MemoryMap;
import io.gpupool.soft.memory.Pages;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** One launch, and the threads that work on it. */
@Timeout(60)
final class GridTest {
  private static final String SPINS =
      """
      .version 8.0
      .target sm_70
      .address_size 64
      .visible .entry spins()
      {
        .shared .b32 flag;
        .reg .b32 %set;
        .reg .pred %p;
        st.shared.u32 [flag], 0;
      wait:
        ld.volatile.shared.u32 %set, [flag];
        setp.eq.u32 %p, %set, 0;
        @%p bra wait;
        ret;
      }
      """;

  /** So many that it takes a while to give their memory back. */
  private static final int BLOCKS = 100;

  private static final int ROUNDS = 20;
  private static final long SLICE_NANOS = 1_000_000;

  @Test
  void thread_thatComesWhileAStoppedGridEnds_takesNoneOfItsBlocks() throws Exception {
    try (TestGpu gpu = TestGpu.withPtx(SPINS, 1 << 20);
        Pages memory = Pages.map(1 << 20);
        MemoryMap map = new MemoryMap(memory.address(), memory.sizeBytes())) {
      for (int round = 0; round < ROUNDS; round++) {
        assertThat(tookBlocks(gpu.kernel("spins"), map)).as("round %s", round).isFalse();
      }
    }
  }

  /** Whether a thread that got the device's time as its grid was stopped worked on blocks. */
  private static boolean tookBlocks(CompiledKernel kernel, MemoryMap map) throws Exception {
    LateTime time = new LateTime();
    GridServices printing = GridServices.printing(_ -> {});
    GridServices services =
        new GridServices(
            printing.printf(),
            printing.textures(),
            printing.references(),
            printing.heap(),
            0,
            DeviceRuntime.NONE,
            time);
    Launch launch = TestGpu.blocks(BLOCKS, 1);
    GridTask grid =
        new GridTask(
            new Grid(kernel, launch, MemorySegment.NULL, map, services, 1), time, () -> {});
    BlockPool first = new BlockPool(0);
    BlockPool second = new BlockPool(1);
    try {
      while (grid.work(first, SLICE_NANOS)) {
        // Until all of them have begun, and spin.
      }
      CompletableFuture<Boolean> took = new CompletableFuture<>();
      time.isLate = true;
      Thread late = Thread.ofPlatform().start(() -> took.complete(grid.work(second, SLICE_NANOS)));
      time.asked.await();

      grid.stop(new KernelFaultException(KernelFaultException.LAUNCH_TIMEOUT, "stopped"));

      late.join();
      return took.get();
    } finally {
      first.release();
      second.release();
    }
  }

  /** Time that a thread gets when its grid has no work for it any more. */
  private static final class LateTime implements DeviceTime {
    private final CountDownLatch asked = new CountDownLatch(1);
    private volatile boolean isLate;

    @Override
    public long begin(Use use, long nowNanos) {
      if (isLate) {
        asked.countDown();
        while (use.isWanted()) {
          Thread.onSpinWait();
        }
      }
      return nowNanos;
    }

    @Override
    public void end(long nowNanos) {}

    @Override
    public boolean isOver() {
      return false;
    }

    @Override
    public long pass(Use use) {
      return 0;
    }
  }
}
