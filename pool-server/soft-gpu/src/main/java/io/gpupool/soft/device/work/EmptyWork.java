// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.work;

/** Work that does nothing but keep its place in the order. */
public final class EmptyWork extends Work {
  public EmptyWork(Scheduler scheduler) {
    super(scheduler);
  }

  @Override
  protected boolean start() {
    return true;
  }
}
