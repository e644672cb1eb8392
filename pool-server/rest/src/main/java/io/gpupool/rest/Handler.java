// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest;

import io.gpupool.server.PoolSnapshot;

/** Answers the calls of one operation; called by many threads. */
interface Handler {
  /**
   * @param seen what the caller may see; nothing if the operation is open to all
   */
  Answer answer(Call call, PoolSnapshot seen) throws Problem;
}
