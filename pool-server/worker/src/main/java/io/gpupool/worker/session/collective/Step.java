// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.collective;

import io.gpupool.worker.collective.ChannelException;
import io.gpupool.worker.collective.Rank;

/** A step of a rank's thread. */
interface Step {
  /** Returns whether it can be carried out now; those after it wait for that. */
  default boolean isReady() {
    return true;
  }

  void run(Rank rank) throws ChannelException, StreamFailedException;

  /** It was carried out, or never will be. */
  default void over() {}
}
