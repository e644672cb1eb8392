// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.journal;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.Optional;

/**
 * A part of a session that writes down by itself what it has, where the journal does not tell all
 * of it. Called by the session's thread, while no work is under way.
 */
public interface SavedTopic {
  /** Returns what of it cannot move, if there is such a thing. */
  default Optional<String> fixed() {
    return Optional.empty();
  }

  /** Writes down what it has. */
  void save(DataOutput to) throws IOException;

  /**
   * Makes again what was written down.
   *
   * @throws RestoreException if that cannot be
   */
  void restore(DataInput from) throws IOException, RestoreException;
}
