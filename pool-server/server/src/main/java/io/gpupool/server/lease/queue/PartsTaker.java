// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.queue;

import io.gpupool.server.placement.Placement.Part;
import io.gpupool.server.rejection.RefusedException;
import io.gpupool.server.state.StateException;
import java.io.IOException;
import java.util.List;

/** The commit by which a request gets its parts when it is its turn. */
public interface PartsTaker {
  /**
   * Takes the parts.
   *
   * @throws RefusedException if they are not free any more, or the tenant may not
   * @throws StateException if that cannot be recorded
   * @throws IOException if the server cannot, for want of files or disk
   */
  void take(QueueEntry entry, List<Part> parts)
      throws RefusedException, StateException, IOException;
}
