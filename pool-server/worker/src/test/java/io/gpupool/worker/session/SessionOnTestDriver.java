// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.worker.session.quota.LeasedGpu;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** Tests that each have a session with a context on the test driver. */
abstract class SessionOnTestDriver {
  TestSession session;

  @BeforeEach
  final void openSession() {
    openSession(gpus());
  }

  /** The GPUs of a session; one unless told otherwise. */
  List<LeasedGpu> gpus() {
    return List.of(new LeasedGpu(0, TestSession.QUOTA_BYTES, 100));
  }

  final void openSession(List<LeasedGpu> gpus) {
    session = new TestSession(TestDriver.backend(), gpus);
    session.retainContext();
  }

  @AfterEach
  final void closeSession() {
    // There is none where the test driver could not be built.
    if (session != null) {
      session.close();
      // The driver of this process outlives the session.
      TestDriver.backend().cuDevicePrimaryCtxReset_v2(0);
    }
  }
}
