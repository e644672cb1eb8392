// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device;

/** An action of the host that follows works of a device, and is over when it has run. */
final class AfterWork extends Work {
  private final Runnable action;

  AfterWork(Scheduler scheduler, Runnable action) {
    super(scheduler);
    this.action = action;
  }

  @Override
  boolean start() {
    Scheduler.runListener(action);
    return true;
  }
}
