// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.collective;

import io.gpupool.cuda.BackendTraits.AddressRange;
import io.gpupool.worker.session.core.ContextState;

/** The way in which a session's communicators are carried out. */
interface Collectives {
  /** How long the ranks of a communicator wait for each other, as it begins. */
  long BEGIN_MILLIS = 300_000;

  /** Makes a rank that has joined none. */
  Communicator make(ContextState context);

  /** Returns whether a range is memory of the session that ranks can use. */
  boolean isMemory(AddressRange range);
}
