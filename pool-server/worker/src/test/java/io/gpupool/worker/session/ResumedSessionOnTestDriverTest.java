// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.cuda.Backend;

/** The same on a driver, whose copies go through blocks that wait for acknowledgements. */
class ResumedSessionOnTestDriverTest extends ResumedSessionTest {
  @Override
  Backend backend() {
    return TestDriver.backend();
  }

  @Override
  void close(Backend used) {
    // Other tests use it, too.
    used.cuDevicePrimaryCtxReset_v2(0);
  }
}
