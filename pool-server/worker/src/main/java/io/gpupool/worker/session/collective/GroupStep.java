// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.collective;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.worker.collective.ChannelException;
import io.gpupool.worker.collective.CollectiveCall;
import io.gpupool.worker.collective.Rank;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The calls of one group in a stream. They are carried out once the stream has come to them, and
 * the stream goes on when they are over. The stream speaks in any thread.
 */
final class GroupStep implements Step {
  private final List<CollectiveCall> group;
  private final RankSteps steps;

  /** Lets the stream go on; null: it is not there yet. */
  @GuardedBy("this")
  private @Nullable Runnable open;

  @GuardedBy("this")
  private int status;

  @GuardedBy("this")
  private boolean isOver;

  GroupStep(List<CollectiveCall> group, RankSteps steps) {
    this.group = group;
    this.steps = steps;
  }

  /** The stream has come to the group, and goes on when it is told to. */
  void arrived(int streamStatus, Runnable whenDone) {
    boolean passes;
    synchronized (this) {
      status = streamStatus;
      open = whenDone;
      passes = isOver;
    }
    if (passes) {
      whenDone.run();
    }
    steps.changed();
  }

  @Override
  public synchronized boolean isReady() {
    return open != null;
  }

  @Override
  public void run(Rank rank) throws ChannelException, StreamFailedException {
    int failed;
    synchronized (this) {
      failed = status;
    }
    if (failed != 0) {
      throw new StreamFailedException(failed);
    }
    rank.run(group);
  }

  @Override
  public void over() {
    Runnable action;
    synchronized (this) {
      action = isOver ? null : open;
      isOver = true;
    }
    if (action != null) {
      action.run();
    }
  }
}
