// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.context;

import java.lang.foreign.ValueLayout;

/**
 * The value that decides what a conditional node of a graph does: four bytes of device memory, to
 * which kernels write.
 *
 * @param handle its address
 * @param defaultValue its value when a graph is launched, if {@code assigned}
 */
public record SoftCondition(SoftContext context, long handle, int defaultValue, boolean assigned) {
  public static final int BYTES = 4;

  /** As the kernels that are done left it. */
  public int value() {
    return context.view(handle, BYTES).get(ValueLayout.JAVA_INT_UNALIGNED, 0);
  }

  /** What the launch of a graph begins with. */
  public void assign() {
    if (assigned) {
      context.view(handle, BYTES).set(ValueLayout.JAVA_INT_UNALIGNED, 0, defaultValue);
    }
  }
}
