// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class DiagnosticsTest {
  private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
  private final List<String> told = new ArrayList<>();
  private final Diagnostics diagnostics =
      new Diagnostics(new PrintStream(bytes, true, StandardCharsets.UTF_8), told::add);

  @Test
  void note_sameReasonTwice_isWrittenOnceToLogAndProgram() {
    diagnostics.nameSession("lease L3 session 0a1b2c3d of pid 7 train");
    diagnostics.note(new GpuException(CudaStatus.NOT_SUPPORTED, "line 7: tex.2d"));
    diagnostics.note(new GpuException(CudaStatus.NOT_SUPPORTED, "line 7: tex.2d"));
    diagnostics.note(new GpuException(CudaStatus.ILLEGAL_ADDRESS, "kernel f: address 0x0"));

    String prefix = "gpupool worker: lease L3 session 0a1b2c3d of pid 7 train: CUDA_ERROR_";
    assertThat(text())
        .containsExactly(
            prefix + "NOT_SUPPORTED: line 7: tex.2d",
            prefix + "ILLEGAL_ADDRESS: kernel f: address 0x0");
    assertThat(told).hasSize(2);
    assertThat(told.getFirst())
        .startsWith("gpupool: CUDA_ERROR_NOT_SUPPORTED: line 7: tex.2d; docs/software-gpu.md")
        .endsWith("\n");
    assertThat(told.getLast()).contains("kernel f: address 0x0; GPUPOOL_SOFT_CHECK=1");
  }

  @Test
  void note_ordinaryRefusals_areNotWritten() {
    diagnostics.note(new GpuException(CudaStatus.INVALID_VALUE, "x"));
    diagnostics.note(new GpuException(CudaStatus.OUT_OF_MEMORY, "x"));
    diagnostics.note(new GpuException(CudaStatus.NOT_FOUND, "x"));

    assertThat(text()).isEmpty();
    assertThat(told).isEmpty();
  }

  @Test
  void note_assertion_isLeftToTheKernelsOwnWords() {
    diagnostics.note(new GpuException(CudaStatus.ASSERT, "kernel f: an assertion failed"));

    assertThat(text()).hasSize(1);
    assertThat(told).isEmpty();
  }

  @Test
  void note_endlesslyMany_stops() {
    for (int number = 0; number < 10_000; number++) {
      diagnostics.note(new GpuException(CudaStatus.INVALID_IMAGE, "image " + number));
    }

    assertThat(text()).hasSize(50);
    assertThat(told).hasSize(50);
  }

  private String[] text() {
    String text = bytes.toString(StandardCharsets.UTF_8);
    return text.isEmpty() ? new String[0] : text.split("\n");
  }
}
