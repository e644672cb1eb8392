// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.nested;

import org.jspecify.annotations.Nullable;

/** A stream of launches from kernels; guarded by the lock of its {@link LaunchTree}. */
final class LaunchStream {
  private @Nullable Task last;

  /** The task that was put into it last; null before the first. */
  @Nullable Task last() {
    return last;
  }

  void last(Task task) {
    last = task;
  }
}
