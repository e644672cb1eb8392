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

  /** Ends the session. */
  void end(String reason);

  /**
   * The server stops: leaves the session to its next process if that can take it over, else ends
   * it.
   *
   * @param leave leaves the worker; runs later if the program is being connected
   */
  void outliveServer(Runnable leave);
}
