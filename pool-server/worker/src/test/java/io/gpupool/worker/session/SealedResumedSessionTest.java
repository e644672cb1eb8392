// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

/** The same over sealed connections. */
class SealedResumedSessionTest extends ResumedSessionTest {
  @Override
  boolean isSealed() {
    return true;
  }
}
