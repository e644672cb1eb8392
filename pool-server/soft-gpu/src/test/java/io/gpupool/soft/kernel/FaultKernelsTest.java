// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.kernel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gpupool.soft.exec.GridExecution;
import io.gpupool.soft.exec.launch.KernelFaultException;
import io.gpupool.soft.exec.launch.Launch;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Kernels that go wrong end with the right CUDA error, and harm nothing else. */
@Timeout(60)
class FaultKernelsTest {
  private static KernelFaultException fault(
      TestGpu gpu, String kernel, Launch launch, Object... arguments) {
    return catchThrowableOfType(
        KernelFaultException.class, () -> gpu.run(kernel, launch, arguments));
  }

  @Test
  void outOfRange_beyondAllocation_isIllegalAddressAndNamesKernelAndLine() throws Exception {
    try (TestGpu gpu = TestGpu.load("faults")) {
      MemorySegment p = gpu.allocate(512);
      for (long index : new long[] {128, -1, 1L << 40, -(1L << 45), Long.MIN_VALUE / 4}) {
        KernelFaultException fault = fault(gpu, "outOfRange", TestGpu.blocks(1, 1), p, index);

        assertThat(fault.cudaResult()).as("index %d", index).isEqualTo(700);
        assertThat(fault).hasMessageContaining("kernel outOfRange").hasMessageContaining("line ");
      }
      gpu.run("outOfRange", TestGpu.blocks(1, 1), p, 127L);
      assertThat(p.getAtIndex(ValueLayout.JAVA_INT, 127)).isEqualTo(1);
    }
  }

  @Test
  void outOfRange_nullPointer_isIllegalAddress() throws Exception {
    try (TestGpu gpu = TestGpu.load("faults")) {
      KernelFaultException fault = fault(gpu, "outOfRange", TestGpu.blocks(1, 1), 0L, 0L);

      assertThat(fault.cudaResult()).isEqualTo(KernelFaultException.ILLEGAL_ADDRESS);
    }
  }

  @Test
  void outOfRange_freedMemory_isIllegalAddress() throws Exception {
    try (TestGpu gpu = TestGpu.load("faults")) {
      MemorySegment p = gpu.allocate(4096);
      gpu.run("outOfRange", TestGpu.blocks(1, 1), p, 5L);
      gpu.free(p);

      KernelFaultException fault = fault(gpu, "outOfRange", TestGpu.blocks(1, 1), p, 5L);

      assertThat(fault.cudaResult()).isEqualTo(KernelFaultException.ILLEGAL_ADDRESS);
    }
  }

  @Test
  void misaligned_word_isMisalignedAddress() throws Exception {
    try (TestGpu gpu = TestGpu.load("faults")) {
      KernelFaultException fault = fault(gpu, "misaligned", TestGpu.blocks(1, 1), gpu.allocate(64));

      assertThat(fault.cudaResult()).isEqualTo(KernelFaultException.MISALIGNED_ADDRESS);
    }
  }

  @Test
  void sharedOverrun_beyondTheBlocksMemory_isIllegalAddress() throws Exception {
    try (TestGpu gpu = TestGpu.load("faults")) {
      KernelFaultException fault =
          fault(gpu, "sharedOverrun", TestGpu.blocks(1, 8), gpu.allocate(64), 8);

      assertThat(fault.cudaResult()).isEqualTo(KernelFaultException.ILLEGAL_ADDRESS);
      assertThat(fault).hasMessageContaining("shared");
    }
  }

  @Test
  void trap_taken_isLaunchFailed() throws Exception {
    try (TestGpu gpu = TestGpu.load("faults")) {
      gpu.run("trap", TestGpu.blocks(1, 1), 2);

      KernelFaultException fault = fault(gpu, "trap", TestGpu.blocks(1, 1), 3);

      assertThat(fault.cudaResult()).isEqualTo(KernelFaultException.LAUNCH_FAILED);
    }
  }

  @Test
  void deadlock_barrierNobodyElseReaches_isToldInsteadOfHanging() throws Exception {
    try (TestGpu gpu = TestGpu.load("faults")) {
      KernelFaultException fault = fault(gpu, "deadlock", TestGpu.blocks(1, 64));

      assertThat(fault.cudaResult()).isEqualTo(KernelFaultException.LAUNCH_TIMEOUT);
      assertThat(fault).hasMessageContaining("deadlock");
    }
  }

  @Test
  void spin_cancelled_stops() throws Exception {
    expectCancelled("spin");
  }

  @Test
  void compute_loopWithoutMemoryCancelled_stops() throws Exception {
    expectCancelled("compute");
  }

  private static void expectCancelled(String kernel) throws Exception {
    try (TestGpu gpu = TestGpu.load("faults")) {
      GridExecution execution = gpu.start(kernel, TestGpu.blocks(8, 64), gpu.ints(0));
      while (execution.busyNanos() == 0 && !execution.completion().isDone()) {
        Thread.sleep(5);
        if (kernel.equals("compute")) {
          break;
        }
      }
      assertThat(execution.completion()).isNotDone();

      execution.cancel();

      ExecutionException thrown =
          catchThrowableOfType(
              ExecutionException.class, () -> execution.completion().get(30, TimeUnit.SECONDS));
      assertThat(thrown.getCause())
          .isInstanceOfSatisfying(
              KernelFaultException.class,
              fault ->
                  assertThat(fault.cudaResult()).isEqualTo(KernelFaultException.LAUNCH_TIMEOUT));
    }
  }

  @Test
  void spin_besideAnotherGrid_doesNotStarveIt() throws Exception {
    try (TestGpu gpu = TestGpu.load("faults")) {
      MemorySegment flag = gpu.ints(0);
      MemorySegment p = gpu.allocate(512);
      GridExecution spinning = gpu.start("spin", TestGpu.blocks(64, 64), flag);

      gpu.start("outOfRange", TestGpu.blocks(1, 1), p, 3L).completion().get(30, TimeUnit.SECONDS);
      assertThat(p.getAtIndex(ValueLayout.JAVA_INT, 3)).isEqualTo(1);

      flag.set(ValueLayout.JAVA_INT, 0, 1);
      spinning.completion().get(30, TimeUnit.SECONDS);
    }
  }

  @Test
  void fault_inOneGrid_leavesTheOtherAlone() throws Exception {
    try (TestGpu gpu = TestGpu.load("faults")) {
      MemorySegment flag = gpu.ints(0);
      GridExecution spinning = gpu.start("spin", TestGpu.blocks(2, 32), flag);
      KernelFaultException fault = fault(gpu, "outOfRange", TestGpu.blocks(1, 1), 0L, 0L);
      assertThat(fault.cudaResult()).isEqualTo(KernelFaultException.ILLEGAL_ADDRESS);

      flag.set(ValueLayout.JAVA_INT, 0, 1);
      spinning.completion().get(30, TimeUnit.SECONDS);
    }
  }
}
