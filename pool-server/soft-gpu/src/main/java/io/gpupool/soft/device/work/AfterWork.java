// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.work;

/** An action of the host that follows works of a device, and is over when it has run. */
public final class AfterWork extends Work {
  private final Runnable action;

  public AfterWork(Scheduler scheduler, Runnable action) {
    super(scheduler);
    this.action = action;
  }

  @Override
  protected boolean start() {
    Scheduler.runListener(action);
    return true;
  }
}
