// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.graph;

import io.gpupool.soft.device.context.ContextWork;
import io.gpupool.soft.device.context.SoftContext;
import io.gpupool.soft.device.work.Transfer;

/** A copy or fill as a node of a graph. */
final class MemoryWork extends ContextWork {
  /** Up to this length it runs on whatever thread finds it ready. */
  private static final long SHORT_BYTES = 128 << 10;

  private final long lengthBytes;
  private final Transfer transfer;

  MemoryWork(SoftContext context, long lengthBytes, Transfer transfer) {
    super(context);
    this.lengthBytes = lengthBytes;
    this.transfer = transfer;
  }

  @Override
  protected boolean run() {
    transfer(lengthBytes, transfer);
    return true;
  }

  @Override
  protected boolean isShort() {
    return lengthBytes <= SHORT_BYTES;
  }
}
