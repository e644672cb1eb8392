// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.context;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.device.SoftGpu;
import io.gpupool.soft.device.work.Completion;
import io.gpupool.soft.device.work.Scheduler;
import io.gpupool.soft.device.work.Work;
import io.gpupool.soft.memory.SharedMarks;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** A mark in a stream; knows when the stream reached it. Any thread may ask. */
public final class SoftEvent {
  /** Flag: query and synchronise only, no times. */
  public static final int DISABLE_TIMING = 2;

  /** Flag: other processes may know it; goes with {@link #DISABLE_TIMING} only. */
  public static final int INTERPROCESS = 4;

  private static final int KNOWN_FLAGS = 7;

  private final SoftContext context;
  private final boolean timed;
  private final @Nullable SharedMarks shared;

  /** The most recent record of this process; null before the first. */
  private volatile @Nullable Mark mark;

  /** When another process recorded it, in this one's time, if no record followed. */
  private volatile @Nullable Long restoredNanos;

  SoftEvent(SoftContext context, int flags) {
    this(context, flags, (flags & INTERPROCESS) == 0 ? null : SharedMarks.create());
  }

  /** An event of another process. */
  SoftEvent(SoftContext context, SharedMarks theirs) {
    this(context, DISABLE_TIMING | INTERPROCESS, theirs);
  }

  private SoftEvent(SoftContext context, int flags, @Nullable SharedMarks shared) {
    if ((flags & ~KNOWN_FLAGS) != 0) {
      throw new GpuException(CudaStatus.INVALID_VALUE, "unknown event flags " + flags);
    }
    timed = (flags & DISABLE_TIMING) == 0;
    if (timed && (flags & INTERPROCESS) != 0) {
      throw new GpuException(CudaStatus.INVALID_VALUE, "an event between processes has no times");
    }
    this.context = context;
    this.shared = shared;
  }

  /** The most recent record's completion; done if it was never recorded. */
  public Completion completion() {
    Work latest = lastMark();
    return latest == null ? Completion.DONE : latest;
  }

  /**
   * Returns the marks by which other processes know it.
   *
   * @throws GpuException INVALID_HANDLE if it was not made for them
   */
  public SharedMarks shared() {
    if (shared == null) {
      throw new GpuException(CudaStatus.INVALID_HANDLE, "the event was made without INTERPROCESS");
    }
    return shared;
  }

  /** Ends its use. */
  public void destroy() {
    if (shared != null) {
      shared.close();
    }
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

  public Mark newMark() {
    return new Mark(context.device().gpu().scheduler(), shared);
  }

  public void record(Mark newest) {
    mark = newest;
  }

  /** The most recent record, of whatever process; null if it was never recorded. */
  public @Nullable Work lastMark() {
    Mark own = mark;
    if (shared == null) {
      return own;
    }
    long latest = shared.latest();
    if (own != null && own.number == latest || latest == 0) {
      return own;
    }
    return shared.isDone(latest) ? null : awaiting(shared, latest);
  }

  /** A work of no stream, done when another process's record is. */
  private Work awaiting(SharedMarks marks, long number) {
    SoftGpu gpu = context.device().gpu();
    Scheduler scheduler = gpu.scheduler();
    Work theirs =
        new Work(scheduler) {
          @Override
          protected boolean start() {
            gpu.valueWaits().add(() -> marks.isDone(number), this);
            return false;
          }
        };
    synchronized (scheduler.lock()) {
      scheduler.enqueue(theirs);
    }
    scheduler.begin(theirs);
    return theirs;
  }

  /** When it was reached, of an event that has times and was recorded and reached. */
  public OptionalLong reachedNanos() {
    Mark current = mark;
    if (current == null) {
      Long restored = restoredNanos;
      return restored == null ? OptionalLong.empty() : OptionalLong.of(restored);
    }
    return current.isDone() ? OptionalLong.of(current.nanos) : OptionalLong.empty();
  }

  /** Makes it one that was reached at a time. */
  public void restore(long nanos) {
    restoredNanos = nanos;
  }

  private long nanos() {
    Mark current = mark;
    Long restored = restoredNanos;
    if (timed && current == null && restored != null) {
      return restored;
    }
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
  public static final class Mark extends Work {
    private final @Nullable SharedMarks shared;

    /** Among all processes' records; 0 if only this one knows the event. */
    private final long number;

    private long nanos;

    Mark(Scheduler scheduler, @Nullable SharedMarks shared) {
      super(scheduler);
      this.shared = shared;
      number = shared == null ? 0 : shared.begin();
    }

    @Override
    protected boolean start() {
      nanos = System.nanoTime();
      if (shared != null) {
        shared.done(number);
      }
      return true;
    }
  }
}
