// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.worker.seal.ProgramEnd;

/** The same over sealed connections. */
class SealedCallStreamTest extends CallStreamTest {
  @Override
  ProgramEnd.Kind kind() {
    return ProgramEnd.Kind.SEALED;
  }
}
