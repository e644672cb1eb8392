// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device;

/** Work that does nothing but keep its place in the order. */
final class EmptyWork extends Work {
  EmptyWork(Scheduler scheduler) {
    super(scheduler);
  }

  @Override
  boolean start() {
    return true;
  }
}
