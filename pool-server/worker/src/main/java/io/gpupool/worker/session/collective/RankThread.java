// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.collective;

import io.gpupool.worker.collective.ChannelException;
import io.gpupool.worker.collective.Rank;

/**
 * The thread of a rank. It waits for the other ranks, and carries out the rank's steps in their
 * order, each once it is ready.
 */
final class RankThread {
  private final SoftCommunicator communicator;
  private final RankSteps steps;
  private final Rank rank;
  private final long beginMillis;

  /**
   * A thread that has not begun.
   *
   * @param beginMillis how long the ranks of a communicator wait for each other, as it begins
   */
  RankThread(SoftCommunicator communicator, RankSteps steps, Rank rank, long beginMillis) {
    this.communicator = communicator;
    this.steps = steps;
    this.rank = rank;
    this.beginMillis = beginMillis;
  }

  Thread start(String name) {
    Thread thread = new Thread(this::serve, name);
    thread.setDaemon(true);
    thread.start();
    return thread;
  }

  private void serve() {
    if (steps.isLate(beginMillis)) {
      communicator.fail(NcclResult.SYSTEM_ERROR, late(beginMillis));
    }
    for (Step step = steps.next(); step != null; step = steps.next()) {
      carryOut(step);
    }
    communicator.leave();
  }

  /** Says that a rank has waited this long for others. */
  static String late(long millis) {
    return "not all ranks came within "
        + millis / 1000
        + " s; is one of them on another pool, or of another tenant or gang?";
  }

  private void carryOut(Step step) {
    boolean isDone = false;
    try {
      step.run(rank);
      isDone = true;
    } catch (RuntimeException e) {
      // Whoever waits for the step must not wait for ever.
      communicator.fail(NcclResult.INTERNAL_ERROR, "internal error: " + e);
    } catch (ChannelException e) {
      communicator.fail(NcclResult.REMOTE_ERROR, String.valueOf(e.getMessage()));
    } catch (StreamFailedException e) {
      communicator.fail(NcclResult.UNHANDLED_CUDA_ERROR, String.valueOf(e.getMessage()));
    }
    communicator.over(step, isDone);
  }
}
