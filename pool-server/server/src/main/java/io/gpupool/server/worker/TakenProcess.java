// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.worker;

import io.gpupool.runtime.ProcessStart;
import io.gpupool.runtime.Timers;
import java.util.Optional;

/**
 * A worker that the server's former process has started. As it is no child of this one, its end is
 * looked for, often once it is expected. Owned by the control thread.
 */
final class TakenProcess implements WorkerProcess {
  private static final long LOOK_MILLIS = 500;
  private static final long SOON_MILLIS = 10;

  private final ProcessStart process;
  private final Timers timers;
  private final Runnable onEnd;
  private long pauseMillis = LOOK_MILLIS;
  private Timers.Cancellable look = () -> {};

  TakenProcess(ProcessStart process, Timers timers, Runnable onEnd) {
    this.process = process;
    this.timers = timers;
    this.onEnd = onEnd;
  }

  void watch() {
    look = timers.after(pauseMillis, this::look);
  }

  private void look() {
    if (process.isAlive()) {
      watch();
    } else {
      onEnd.run();
    }
  }

  @Override
  public int pid() {
    return (int) process.pid();
  }

  @Override
  public Optional<ProcessStart> identity() {
    return process.isAlive() ? Optional.of(process) : Optional.empty();
  }

  @Override
  public void kill() {
    process.kill();
  }

  @Override
  public void expectEnd() {
    pauseMillis = SOON_MILLIS;
    look.cancel();
    watch();
  }
}
