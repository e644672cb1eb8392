// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.nested;

import org.jspecify.annotations.Nullable;

/** An event of a grid; guarded by the lock of its {@link LaunchTree}. */
final class LaunchEvent {
  private @Nullable Task recorded;

  /** What it stands behind; null if that is nothing. */
  @Nullable Task recorded() {
    return recorded;
  }

  void record(@Nullable Task task) {
    recorded = task;
  }
}
