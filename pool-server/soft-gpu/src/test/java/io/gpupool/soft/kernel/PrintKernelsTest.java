// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.kernel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gpupool.soft.exec.launch.KernelFaultException;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

/** Device printf and assertions. */
class PrintKernelsTest {
  @Test
  void hello_manyConversions_printsAsCDoes() throws Exception {
    try (TestGpu gpu = TestGpu.load("print")) {
      MemorySegment name = gpu.allocate(16);
      name.copyFrom(MemorySegment.ofArray("kernel\0".getBytes(StandardCharsets.UTF_8)));

      gpu.run("hello", TestGpu.blocks(1, 4), 2, name);

      assertThat(gpu.printed())
          .isEqualTo(
              "thread 0 of 4: kernel  0.00 left  |a|ff 010 1234567890123 % +42 1.235e+04\n"
                  + "thread 1 of 4: kernel  1.50 left  |b|100 010 1234567890123 % +42 1.235e+04\n");
    }
  }

  @Test
  void plain_noArguments_printsTheText() throws Exception {
    try (TestGpu gpu = TestGpu.load("print")) {
      gpu.run("plain", TestGpu.blocks(1, 1));

      assertThat(gpu.printed()).isEqualTo("no arguments\n");
    }
  }

  @Test
  void checked_assertionFails_reportsPlaceAndStops() throws Exception {
    try (TestGpu gpu = TestGpu.load("print")) {
      gpu.run("checked", TestGpu.blocks(1, 8), 8);
      assertThat(gpu.printed()).isEmpty();

      KernelFaultException fault =
          catchThrowableOfType(
              KernelFaultException.class, () -> gpu.run("checked", TestGpu.blocks(1, 8), 7));

      assertThat(fault.cudaResult()).isEqualTo(KernelFaultException.ASSERT);
      assertThat(gpu.printed())
          .contains("print.cu:")
          .contains("block: [0,0,0], thread: [7,0,0] Assertion `threadIdx.x < limit` failed.");
    }
  }
}
