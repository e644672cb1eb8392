// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.cuda.Backend;

/** The same on a driver, whose streams stand still for words of page-locked memory. */
class SeveralSessionsOnTestDriverTest extends SeveralSessionsTest {
  @Override
  Backend backend(int link) {
    return TestDriver.backend();
  }

  @Override
  void close(Backend backend) {
    // Other tests use it, too, and a session may have ended while a stream stood still.
    backend.cuDevicePrimaryCtxReset_v2(0);
  }

  /** Not a test here: a driver gives the addresses that it likes. */
  @Override
  void memory_ofTwoSessions_liesInPlacesOfItsOwn() {}
}
