// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device;

/** A copy or fill as a node of a graph. */
final class MemoryWork extends ContextWork {
  /** Up to this length it runs on whatever thread finds it ready. */
  private static final long SHORT_BYTES = 128 << 10;

  private final long lengthBytes;
  private final Runnable action;

  MemoryWork(SoftContext context, long lengthBytes, Runnable action) {
    super(context);
    this.lengthBytes = lengthBytes;
    this.action = action;
  }

  @Override
  boolean run() {
    action.run();
    context().device().usage().copied(lengthBytes);
    return true;
  }

  @Override
  boolean isShort() {
    return lengthBytes <= SHORT_BYTES;
  }
}
