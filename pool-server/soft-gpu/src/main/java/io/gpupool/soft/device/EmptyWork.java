// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device;

/** Nothing, in its place among others. */
final class EmptyWork extends Work {
  EmptyWork(Scheduler scheduler) {
    super(scheduler);
  }

  @Override
  boolean start() {
    return true;
  }
}
