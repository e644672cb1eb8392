// SPDX-License-Identifier: Apache-2.0
package io.gpupool.runtime;

/** A thread that runs one task until the task ends or its owner closes it; for any thread. */
public final class BackgroundThread implements AutoCloseable {
  private final Thread thread;

  /**
   * Makes the thread without starting it.
   *
   * @param task ends soon after an interrupt
   */
  public BackgroundThread(Thread.Builder kind, Runnable task) {
    thread = kind.unstarted(task);
  }

  /** Starts the task. */
  public void start() {
    thread.start();
  }

  /** Interrupts the task and waits for its end; an interrupt of the caller ends the wait. */
  @Override
  public void close() {
    thread.interrupt();
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
