// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.nested;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.Dim3;
import io.gpupool.soft.exec.GridExecution;
import io.gpupool.soft.exec.runtime.BlockRuntime.Box;
import io.gpupool.soft.exec.runtime.BlockRuntime.ChildLaunch;
import io.gpupool.soft.exec.runtime.DeviceQueries;
import io.gpupool.soft.exec.runtime.DeviceRuntime;
import io.gpupool.soft.kernel.TestGpu;
import io.gpupool.soft.nested.LaunchTree.Failure;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The end of a tree of launches one of which cannot begin. */
@Timeout(60)
final class LaunchTreeTest {
  private static final MemorySegment NO_PARAMS = MemorySegment.ofArray(new byte[0]);

  private final Error error = new StackOverflowError("no room to start");
  private final CompletableFuture<Failure> over = new CompletableFuture<>();
  private TestGpu gpu;

  @BeforeEach
  void load() throws Exception {
    gpu =
        TestGpu.withPtx(
            ".version 8.0\n.target sm_70\n.address_size 64\n.visible .entry empty() { ret; }\n");
  }

  @AfterEach
  void close() {
    gpu.close();
  }

  private void start(ChildKernels kernels) {
    MemorySegment memory = gpu.allocate(8 * LaunchPool.BYTES_PER_LAUNCH);
    LaunchPool pool = new LaunchPool(memory, memory.address(), 8);
    new LaunchTree(kernels, pool, over::complete).start(empty(), NO_PARAMS);
  }

  private Child empty() {
    return new Child(gpu.kernel("empty"), TestGpu.blocks(1, 1), 0);
  }

  @Test
  void errorAtTheStart_ofTheProgramsGrid_endsTheTree() throws Exception {
    start(new Kernels(0));

    assertThat(over.get(30, TimeUnit.SECONDS)).isEqualTo(new Failure("empty", error));
  }

  @Test
  void errorAtTheStart_ofAKernelsGrid_endsTheTree() throws Exception {
    start(new Kernels(1));

    assertThat(over.get(30, TimeUnit.SECONDS)).isEqualTo(new Failure("empty", error));
  }

  /** Grids of an empty kernel, as if each had launched another, until one cannot be started. */
  private final class Kernels implements ChildKernels {
    private int left;

    private Kernels(int startable) {
      left = startable;
    }

    @Override
    public Child check(ChildLaunch launch) {
      return empty();
    }

    @Override
    public GridExecution start(Child child, MemorySegment params, DeviceRuntime runtime) {
      if (left-- == 0) {
        throw error;
      }
      runtime.open().launch(0, new ChildLaunch(0, new Dim3(1), new Dim3(1), 0), 0, 0);
      return gpu.start("empty", child.launch());
    }

    @Override
    public void ended(GridExecution execution) {}

    @Override
    public Prepared copy(Box to, Box from) {
      throw new UnsupportedOperationException("no copies here");
    }

    @Override
    public Prepared fill(Box to, int value) {
      throw new UnsupportedOperationException("no copies here");
    }

    @Override
    public DeviceQueries queries() {
      throw new UnsupportedOperationException("no questions here");
    }
  }
}
