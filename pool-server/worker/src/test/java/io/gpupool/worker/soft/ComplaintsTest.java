// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.soft;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

final class ComplaintsTest {
  private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
  private final Complaints complaints =
      new Complaints(new PrintStream(bytes, true, StandardCharsets.UTF_8));

  @Test
  void note_sameReasonTwice_isWrittenOnce() {
    complaints.note(new GpuException(CudaStatus.NOT_SUPPORTED, "line 7: tex.2d"));
    complaints.note(new GpuException(CudaStatus.NOT_SUPPORTED, "line 7: tex.2d"));
    complaints.note(new GpuException(CudaStatus.ILLEGAL_ADDRESS, "kernel f: address 0x0"));

    assertThat(text())
        .containsExactly(
            "gpupool worker: NOT_SUPPORTED: line 7: tex.2d",
            "gpupool worker: ILLEGAL_ADDRESS: kernel f: address 0x0");
  }

  @Test
  void note_ordinaryRefusals_areNotWritten() {
    complaints.note(new GpuException(CudaStatus.INVALID_VALUE, "x"));
    complaints.note(new GpuException(CudaStatus.OUT_OF_MEMORY, "x"));
    complaints.note(new GpuException(CudaStatus.NOT_FOUND, "x"));

    assertThat(text()).isEmpty();
  }

  @Test
  void note_endlesslyMany_stops() {
    for (int number = 0; number < 10_000; number++) {
      complaints.note(new GpuException(CudaStatus.INVALID_IMAGE, "image " + number));
    }

    assertThat(text()).hasSize(50);
  }

  private String[] text() {
    String text = bytes.toString(StandardCharsets.UTF_8);
    return text.isEmpty() ? new String[0] : text.split("\n");
  }
}
