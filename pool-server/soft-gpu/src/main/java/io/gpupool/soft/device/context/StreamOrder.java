// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device.context;

import io.gpupool.soft.device.work.Completion;
import io.gpupool.soft.device.work.Scheduler;
import io.gpupool.soft.device.work.Work;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The order of the works of a context's streams: an operation in the legacy stream comes between
 * those of the blocking streams before and after it. Guarded by the scheduler's lock.
 */
public final class StreamOrder {
  private final Scheduler scheduler;
  private final SoftStream legacy;

  /** All streams but the legacy one. */
  private final List<SoftStream> streams = new ArrayList<>();

  /** The last work that everything later waits for; null before the first. */
  private @Nullable Work lastAfterWork;

  StreamOrder(Scheduler scheduler, SoftStream legacy) {
    this.scheduler = scheduler;
    this.legacy = legacy;
  }

  void add(SoftStream stream) {
    synchronized (scheduler.lock()) {
      streams.add(stream);
    }
  }

  void submitAfterAll(Work work, boolean isAwaited) {
    boolean ready;
    synchronized (scheduler.lock()) {
      for (Work tail : allTails()) {
        scheduler.follow(work, tail);
      }
      if (isAwaited) {
        lastAfterWork = work;
      }
      ready = scheduler.enqueue(work);
    }
    if (ready) {
      scheduler.begin(work);
    }
  }

  /** The end of all that has been submitted to any stream of this context. */
  Completion completion() {
    List<Work> tails;
    synchronized (scheduler.lock()) {
      tails = allTails();
    }
    return scheduler.join(tails);
  }

  /** Puts a work where its stream wants it; with the scheduler's lock held. */
  public void place(SoftStream stream, Work work) {
    if (stream.kind() == SoftStream.Kind.LEGACY) {
      for (SoftStream other : streams) {
        if (other.kind() == SoftStream.Kind.BLOCKING) {
          scheduler.follow(work, other.tail);
        }
      }
    } else if (stream.kind() == SoftStream.Kind.BLOCKING) {
      scheduler.follow(work, legacy.tail);
    }
    scheduler.follow(work, stream.tail);
    stream.tail = work;
  }

  /** Whether {@link #place} would find nothing to wait for; with the scheduler's lock held. */
  boolean isReady(SoftStream stream) {
    return isDone(stream.tail)
        && switch (stream.kind()) {
          case NON_BLOCKING -> true;
          case BLOCKING -> isDone(legacy.tail);
          case LEGACY ->
              streams.stream()
                  .allMatch(
                      other -> other.kind() == SoftStream.Kind.NON_BLOCKING || isDone(other.tail));
        };
  }

  /** The works that an operation in the legacy stream would wait for. */
  List<Work> tailsOf(SoftStream legacyStream) {
    List<Work> tails = new ArrayList<>();
    synchronized (scheduler.lock()) {
      addUndone(legacyStream, tails);
      for (SoftStream stream : streams) {
        if (stream.kind() == SoftStream.Kind.BLOCKING) {
          addUndone(stream, tails);
        }
      }
    }
    return tails;
  }

  void forget(SoftStream stream) {
    synchronized (scheduler.lock()) {
      streams.remove(stream);
    }
  }

  private List<Work> allTails() {
    List<Work> tails = new ArrayList<>();
    addUndone(legacy, tails);
    streams.forEach(stream -> addUndone(stream, tails));
    addUndone(lastAfterWork, tails);
    return tails;
  }

  private static void addUndone(SoftStream stream, List<Work> tails) {
    addUndone(stream.tail, tails);
  }

  private static void addUndone(@Nullable Work work, List<Work> tails) {
    if (work != null && !work.isDone()) {
      tails.add(work);
    }
  }

  private static boolean isDone(@Nullable Work work) {
    return work == null || work.isDone();
  }
}
