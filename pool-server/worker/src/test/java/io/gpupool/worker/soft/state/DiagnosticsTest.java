// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.state;

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
  private static final String SESSION = "lease L3 session 0a1b2c3d of pid 7 train";
  private static final int MAX_LINES = 50;

  private final ByteArrayOutputStream logBytes = new ByteArrayOutputStream();
  private final List<String> errors = new ArrayList<>();
  private final Diagnostics diagnostics =
      new Diagnostics(new PrintStream(logBytes, true, StandardCharsets.UTF_8), errors::add);

  @Test
  void report_sameFailureTwice_isWrittenOnceToLogAndProgram() {
    diagnostics.nameSession(SESSION);
    report(CudaStatus.NOT_SUPPORTED, "line 7: tex.2d");
    report(CudaStatus.NOT_SUPPORTED, "line 7: tex.2d");
    report(CudaStatus.ILLEGAL_ADDRESS, "kernel f: address 0x0");

    assertThat(log()).hasSize(2);
    assertThat(log().getFirst())
        .startsWith("gpupool worker: " + SESSION + ": CUDA_ERROR_NOT_SUPPORTED: line 7: tex.2d; ");
    assertThat(log().getLast())
        .startsWith(
            "gpupool worker: " + SESSION + ": CUDA_ERROR_ILLEGAL_ADDRESS: kernel f: address 0x0; ");
    assertThat(errors).hasSize(2);
    assertThat(errors.getFirst())
        .startsWith("gpupool: CUDA_ERROR_NOT_SUPPORTED: line 7: tex.2d; ")
        .endsWith("\n");
  }

  @Test
  void report_ordinaryFailure_isNotWritten() {
    report(CudaStatus.INVALID_VALUE, "x");
    report(CudaStatus.OUT_OF_MEMORY, "x");

    assertThat(log()).isEmpty();
    assertThat(errors).isEmpty();
  }

  @Test
  void report_failedAssertion_isLeftToTheKernelsOwnMessage() {
    report(CudaStatus.ASSERT, "kernel f: an assertion failed");

    assertThat(log()).hasSize(1);
    assertThat(errors).isEmpty();
  }

  @Test
  void report_endlesslyManyFailures_stopsAndSaysSo() {
    for (int number = 0; number < 10_000; number++) {
      report(CudaStatus.INVALID_IMAGE, "image " + number);
    }

    assertThat(log()).hasSize(MAX_LINES + 1);
    assertThat(errors).hasSize(MAX_LINES + 1);
    assertThat(errors.getLast()).contains("left out, after 50");
  }

  private void report(CudaStatus status, String message) {
    diagnostics.report(new GpuException(status, message));
  }

  private List<String> log() {
    return logBytes.toString(StandardCharsets.UTF_8).lines().toList();
  }
}
