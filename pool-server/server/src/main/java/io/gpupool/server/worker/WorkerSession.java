// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.worker;

import io.gpupool.wire.TextMessage;

/** The session that a worker serves. Called on the control thread. */
public interface WorkerSession {
  /** Handles a message that the worker has sent after its hello. */
  void onMessage(TextMessage message);

  /** Notes that the worker's process is dead. */
  void workerExited(int status);

  /** Ends the session. */
  void end(String reason);
}
