// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft.state;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

final class DiagnosisTest {
  @Test
  void line_unsupportedInstruction_namesCodeReasonAndRemedy() {
    assertThat(line(CudaStatus.NOT_SUPPORTED, "kernel f: line 7: mma.sync"))
        .isEqualTo(
            "CUDA_ERROR_NOT_SUPPORTED: kernel f: line 7: mma.sync;"
                + " docs/reference/software-gpu.md lists what the software GPU supports");
  }

  @Test
  void jitLog_invalidPtx_beginsAsTheAssemblersOwn() {
    String reason = "ptxas application ptx input, line 3, column 1; error   : Parsing error";
    assertThat(diagnosis(CudaStatus.INVALID_PTX, reason).jitLog()).startsWith(reason + "; ");
  }

  @Test
  void line_nameWithControlCharacters_isEscapedOnOneLine() {
    String name = "f\n[forged] line\r\u001b[31m\u0085\u2028\u202e\ud800 Größe";

    assertThat(line(CudaStatus.ILLEGAL_ADDRESS, name))
        .contains("f\\u{a}[forged] line\\u{d}\\u{1b}[31m\\u{85}\\u{2028}\\u{202e}\\u{d800} Größe;");
  }

  @Test
  void line_longName_isCut() {
    String line = line(CudaStatus.INVALID_PTX, "\u0001".repeat(1 << 20));

    assertThat(line).hasSizeLessThan(1000).contains("...; correct the PTX");
  }

  @Test
  void line_kernelOfPyTorchWithoutPtx_namesTheFallback() {
    assertThat(line(CudaStatus.NO_BINARY_FOR_GPU, "kernel _ZN2at6native4fillEv cannot run"))
        .contains("GPUPOOL_TORCH_FALLBACK=cpu");
    assertThat(line(CudaStatus.NO_BINARY_FOR_GPU, "kernel fill cannot run"))
        .doesNotContain("GPUPOOL_TORCH_FALLBACK");
  }

  @ParameterizedTest
  @EnumSource(
      names = {
        "INVALID_VALUE",
        "OUT_OF_MEMORY",
        "NOT_FOUND",
        "INVALID_HANDLE",
        "INVALID_CONTEXT",
        "NOT_READY"
      })
  void of_ordinaryFailure_isEmpty(CudaStatus status) {
    assertThat(Diagnosis.of(new GpuException(status, "x"))).isEmpty();
  }

  private static String line(CudaStatus status, String reason) {
    return diagnosis(status, reason).line();
  }

  private static Diagnosis diagnosis(CudaStatus status, String reason) {
    return Diagnosis.of(new GpuException(status, reason)).orElseThrow();
  }
}
