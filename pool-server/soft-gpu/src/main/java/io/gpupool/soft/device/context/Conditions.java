// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.context;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import java.util.HashMap;
import java.util.Map;

/**
 * The conditions of a context's graphs. They go down with the context and not before: nobody says
 * that a handle is done with. Any thread may call it.
 */
final class Conditions {
  private static final int PAGE_BYTES = 4096;

  private final SoftContext context;
  private final Map<Long, SoftCondition> byHandle = new HashMap<>();
  private long next;
  private int freeBytes;

  Conditions(SoftContext context) {
    this.context = context;
  }

  synchronized SoftCondition create(int defaultValue, boolean assigned) {
    if (freeBytes < SoftCondition.BYTES) {
      next = context.device().memory().allocate(PAGE_BYTES, context.moduleData());
      freeBytes = PAGE_BYTES;
    }
    SoftCondition condition = new SoftCondition(context, next, defaultValue, assigned);
    byHandle.put(next, condition);
    next += SoftCondition.BYTES;
    freeBytes -= SoftCondition.BYTES;
    return condition;
  }

  synchronized SoftCondition find(long handle) {
    SoftCondition condition = byHandle.get(handle);
    if (condition == null) {
      throw new GpuException(
          CudaStatus.INVALID_VALUE, "no condition has handle 0x" + Long.toHexString(handle));
    }
    return condition;
  }
}
