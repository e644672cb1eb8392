// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.worker;

import io.gpupool.runtime.ProcessStart;
import java.util.Optional;

/** A worker that this process has started, of whose end the kernel tells it. */
record ChildProcess(Process process) implements WorkerProcess {
  @Override
  public int pid() {
    return (int) process.pid();
  }

  @Override
  public Optional<ProcessStart> identity() {
    return ProcessStart.of(process.pid());
  }

  @Override
  public void kill() {
    process.destroyForcibly();
  }

  @Override
  public void expectEnd() {
    // The kernel tells anyway.
  }
}
