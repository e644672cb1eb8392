// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.worker;

import io.gpupool.wire.TextMessage;
import org.jspecify.annotations.Nullable;

/** The session that a worker serves. Called on the control thread. */
public interface WorkerSession {
  /** Handles a message that the worker has sent after its hello. */
  void onMessage(TextMessage message);

  /**
   * Notes that the worker's process is dead.
   *
   * @param status of its exit; null: it was no child of this process
   */
  void workerExited(@Nullable Integer status);

  /** Returns whether the server's next process can take it over. */
  boolean outlivesServer();

  /** Ends the session. */
  void end(String reason);
}
