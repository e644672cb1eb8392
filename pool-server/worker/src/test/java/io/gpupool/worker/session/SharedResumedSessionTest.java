// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.worker.seal.ProgramEnd;

/** The same over connections in shared memory. */
class SharedResumedSessionTest extends ResumedSessionTest {
  @Override
  ProgramEnd.Kind kind() {
    return ProgramEnd.Kind.SHARED;
  }
}
