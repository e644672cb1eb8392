// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.context;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.Placements;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalLong;

/**
 * The conditions of a context's graphs. They go down with the context and not before: nobody says
 * that a handle is done with. Any thread may call it.
 */
final class Conditions {
  private static final int PAGE_BYTES = 4096;

  private final SoftContext context;
  private final Map<Long, SoftCondition> byHandle = new HashMap<>();

  /** The memory of the latest conditions; there is none yet. */
  private long page = -PAGE_BYTES;

  private long next;

  Conditions(SoftContext context) {
    this.context = context;
  }

  synchronized SoftCondition create(int defaultValue, boolean assigned) {
    Placements placements = context.device().gpu().placements();
    OptionalLong plannedPage = placements.next();
    if (plannedPage.isPresent()) {
      place(plannedPage.getAsLong(), placements.next().orElseThrow());
    } else if (next == page + PAGE_BYTES) {
      page = context.device().allocateAnywhere(PAGE_BYTES, context.moduleData());
      next = page;
    }
    SoftCondition condition = new SoftCondition(context, next, defaultValue, assigned);
    byHandle.put(next, condition);
    placements.note(page);
    placements.note(next);
    next += SoftCondition.BYTES;
    return condition;
  }

  private void place(long plannedPage, long handle) {
    if (plannedPage != page) {
      context.device().memory().allocateAt(plannedPage, PAGE_BYTES, context.moduleData());
      page = plannedPage;
    }
    next = handle;
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
