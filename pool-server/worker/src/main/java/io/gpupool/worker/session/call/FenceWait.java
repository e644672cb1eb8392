// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.call;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.CudaResult;
import io.gpupool.worker.session.core.Answers;
import io.gpupool.worker.session.core.ContextState;

/** A synchronising call: answered when all events, one a stream, are reached. */
public final class FenceWait extends EventWait {
  private final Backend backend;
  private final boolean driverPrints;
  private final long[] events;

  /**
   * Makes a wait.
   *
   * @param driverPrints whether the driver must be synchronised to print
   */
  public FenceWait(
      ContextState context,
      Backend backend,
      Answers answers,
      int tag,
      boolean driverPrints,
      long... events) {
    super(context, backend, answers, tag);
    this.backend = backend;
    this.driverPrints = driverPrints;
    this.events = events;
  }

  @Override
  int events() {
    return events.length;
  }

  @Override
  long event(int index) {
    return events[index];
  }

  @Override
  boolean isClosed() {
    return true;
  }

  @Override
  int reached(int index, boolean answerable) {
    return driverPrints ? backend.cuEventSynchronize(events[index]) : CudaResult.SUCCESS;
  }

  @Override
  void passed(int index) {}

  @Override
  boolean isFence() {
    return true;
  }
}
