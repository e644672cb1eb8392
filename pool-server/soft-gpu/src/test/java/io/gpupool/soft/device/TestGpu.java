// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.context.SoftStream;
import io.gpupool.soft.device.spec.DeviceSpec;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;

/** What the tests of this package start from. */
final class TestGpu {
  static final long MEMORY_BYTES = 256L << 20;

  private TestGpu() {}

  /** Two small devices; to be closed. */
  static SoftGpu create() {
    return create(SoftGpu.MissingPtx.FAIL);
  }

  static SoftGpu create(SoftGpu.MissingPtx missingPtx) {
    return new SoftGpu(new DeviceSpec(2, MEMORY_BYTES, 90), missingPtx, text -> {});
  }

  static void assertStatus(ThrowingCallable call, CudaStatus status) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(GpuException.class, e -> assertThat(e.status()).isEqualTo(status));
  }

  static byte[] readBytes(SoftStream stream, long address, int length) throws InterruptedException {
    byte[] result = new byte[length];
    stream
        .read(
            address,
            length,
            bytes -> MemorySegment.copy(bytes, ValueLayout.JAVA_BYTE, 0, result, 0, length))
        .await();
    return result;
  }
}
