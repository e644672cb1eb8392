// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.nested;

/** An event of a grid; guarded by the lock of its {@link LaunchTree}. */
final class LaunchEvent {
  private Task recorded;

  /** What it stands behind; null if that is nothing. */
  Task recorded() {
    return recorded;
  }

  void record(Task task) {
    recorded = task;
  }
}
