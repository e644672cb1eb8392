// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device;

/** Nothing, in its place among others. */
final class GateWork extends Work {
  GateWork(Scheduler scheduler) {
    super(scheduler);
  }

  @Override
  boolean start() {
    return true;
  }
}
