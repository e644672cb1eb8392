// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.work;

/** The end of something submitted to a device; any thread may ask. */
public interface Completion {
  /** What is over already. */
  Completion DONE = new Done();

  boolean isDone();

  /**
   * Runs an action once it is over: at once if it is, else on the thread that ends it. The action
   * must be short, and neither wait nor submit anything.
   */
  void whenDone(Runnable action);

  /** Waits until it is over. */
  void await() throws InterruptedException;

  /** See {@link #DONE}. */
  final class Done implements Completion {
    private Done() {}

    @Override
    public boolean isDone() {
      return true;
    }

    @Override
    public void whenDone(Runnable action) {
      action.run();
    }

    @Override
    public void await() {}
  }
}
