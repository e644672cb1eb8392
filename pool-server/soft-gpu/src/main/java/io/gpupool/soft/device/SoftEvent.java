// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;

/** A mark in a stream; knows when the stream reached it. Any thread may ask. */
public final class SoftEvent {
  /** Flag: query and synchronise only, no times. */
  public static final int DISABLE_TIMING = 2;

  private static final int INTERPROCESS = 4;
  private static final int KNOWN_FLAGS = 7;

  private final SoftContext context;
  private final boolean timed;

  /** The most recent record; null before the first. */
  private volatile Mark mark;

  SoftEvent(SoftContext context, int flags) {
    if ((flags & ~KNOWN_FLAGS) != 0) {
      throw new GpuException(CudaStatus.INVALID_VALUE, "unknown event flags " + flags);
    }
    if ((flags & INTERPROCESS) != 0) {
      throw new GpuException(CudaStatus.NOT_SUPPORTED, "events cannot be shared between processes");
    }
    this.context = context;
    timed = (flags & DISABLE_TIMING) == 0;
  }

  /** The most recent record's completion; done if it was never recorded. */
  public Completion completion() {
    Mark current = mark;
    return current == null ? Completion.DONE : current;
  }

  /**
   * Time between two events.
   *
   * @return milliseconds, may be negative
   * @throws GpuException INVALID_HANDLE if one was never recorded or has no times, NOT_READY if a
   *     stream has not reached it, or the context's fault
   */
  public static float elapsedMillis(SoftEvent start, SoftEvent end) {
    start.context.requireUsable();
    end.context.requireUsable();
    return (end.nanos() - start.nanos()) / 1e6f;
  }

  public SoftContext context() {
    return context;
  }

  Mark newMark() {
    return new Mark(context.device().gpu().scheduler());
  }

  void record(Mark newest) {
    mark = newest;
  }

  Work lastMark() {
    return mark;
  }

  private long nanos() {
    Mark current = mark;
    if (!timed || current == null) {
      throw new GpuException(
          CudaStatus.INVALID_HANDLE, timed ? "the event was never recorded" : "no timing event");
    }
    if (!current.isDone()) {
      throw new GpuException(CudaStatus.NOT_READY, "the event is not reached");
    }
    return current.nanos;
  }

  /** One record of an event. Written by the thread that runs it, before it is done. */
  static final class Mark extends Work {
    private long nanos;

    Mark(Scheduler scheduler) {
      super(scheduler);
    }

    @Override
    boolean start() {
      nanos = System.nanoTime();
      return true;
    }
  }
}
