// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.cuda.Backend;
import io.gpupool.nccl.NcclSearch;
import io.gpupool.worker.nvidia.NvidiaGpus;
import io.gpupool.worker.os.Posix;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class PageableMemoryTest {
  private static final String ACCESS = "TESTCUDA_PAGEABLE_ACCESS";

  @AfterEach
  void setBack() {
    Posix.setEnvironment(ACCESS, "0");
  }

  @Test
  void sourceReadAtOnce_gpuThatReadsPageableMemoryItself_isNone() {
    Backend ignored = TestDriver.backend();
    NvidiaGpus gpus =
        new NvidiaGpus(
            new NvidiaGpus.Options(true, 4_000_000, "libnvidia-ml.so.1", 0, false, NcclSearch.OFF));
    assertThat(gpus.sourceReadAtOnceBytes()).isEqualTo(64 << 10);
    Posix.setEnvironment(ACCESS, "1");
    assertThat(gpus.sourceReadAtOnceBytes()).isZero();
  }
}
