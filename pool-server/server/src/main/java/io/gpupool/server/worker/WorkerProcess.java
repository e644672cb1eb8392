// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.worker;

import io.gpupool.runtime.ProcessStart;
import java.util.Optional;

/** The process of a worker: a child of this server's, or one that its former process started. */
interface WorkerProcess {
  int pid();

  /** The process as later processes of the server know it; empty: it is dead. */
  Optional<ProcessStart> identity();

  void kill();

  /** Notes that the process is about to end, so that its end is noticed at once. */
  void expectEnd();
}
