// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.Ops;
import io.gpupool.soft.device.SoftGpu.MissingPtx;
import io.gpupool.soft.device.spec.DeviceSpec;
import io.gpupool.worker.session.quota.LeasedGpu;
import io.gpupool.worker.session.quota.Ledger;
import io.gpupool.worker.soft.SoftBackend;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The memory of the server that a session can take: it is bounded whatever the program does. */
@Timeout(180)
class HostMemoryTest {
  private static final int STREAM = 16;
  private static final int CALLBACK = 77;
  private static final int COPY_BYTES = 1 << 20;

  /** In MiB: what is queued before a session waits for room, and the most that is. */
  private static final int WAITS = 256;

  private static final int MOST = 2 * WAITS;

  private final SoftBackend backend =
      new SoftBackend(new DeviceSpec(2, 64L << 20, 90), MissingPtx.SKIP);
  private final Ledger ledger = Ledger.alone(new long[] {TestSession.QUOTA_BYTES});
  private TestSession session;
  private long target;

  @BeforeEach
  void openSession() {
    session = open();
    session.retainContext();
    session.post(Ops.streamCreate, STREAM, 1, 0);
    target = session.allocate(COPY_BYTES);
  }

  private TestSession open() {
    LeasedGpu gpu = new LeasedGpu(0, TestSession.QUOTA_BYTES, 100);
    return new TestSession(backend, List.of(gpu), ledger);
  }

  @AfterEach
  void closeSession() {
    session.close();
    backend.close();
  }

  @Test
  void copies_behindAHostFunctionThatDoesNotEnd_areRefusedInTheEnd() {
    session.post(Ops.streamHostFunction, STREAM, CALLBACK, 0);
    copy(MOST + 100);

    assertThat(session.call(Ops.memGetInfo, 1, 1).result()).isEqualTo(CudaResult.OUT_OF_MEMORY);

    session.post(Ops.callbackDone, CALLBACK);
    assertThat(session.call(Ops.ctxSynchronize).result()).isZero();
    copy(1);
    assertThat(session.call(Ops.ctxSynchronize).result()).isZero();
  }

  @Test
  void copies_thatTheEndOfAHostFunctionComesBehind_areAllMade() {
    session.post(Ops.streamHostFunction, STREAM, CALLBACK, 0);
    copy(WAITS + 100);
    session.post(Ops.callbackDone, CALLBACK);

    assertThat(session.call(Ops.ctxSynchronize).result()).isZero();
  }

  @Test
  void images_ofAllSessionsOfALease_areBounded() {
    session.post(Ops.imageBegin, 1, 1L << 30);
    assertThat(session.call(Ops.ctxSynchronize).result()).isZero();
    try (TestSession other = open()) {
      other.retainContext();
      other.post(Ops.imageBegin, 1, 1L << 30);
      assertThat(other.call(Ops.ctxSynchronize).result()).isEqualTo(CudaResult.OUT_OF_MEMORY);

      session.post(Ops.imageDrop, 1);
      assertThat(session.call(Ops.ctxSynchronize).result()).isZero();
      other.post(Ops.imageBegin, 1, 1L << 30);
      assertThat(other.call(Ops.ctxSynchronize).result()).isZero();
    }
  }

  private void copy(int times) {
    byte[] bytes = new byte[COPY_BYTES];
    for (int i = 0; i < times; i++) {
      session.post(Ops.memcpyHtoD, target, STREAM, bytes);
    }
  }
}
