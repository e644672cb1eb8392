// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.collective;

import io.gpupool.worker.collective.ChannelException;
import io.gpupool.worker.collective.Rank;

/**
 * The thread of a rank. It waits for the other ranks, and carries out the rank's steps in their
 * order, each once it is ready.
 */
final class RankThread {
  /** How long the ranks of a communicator wait for each other, as it begins. */
  private static final long BEGIN_MILLIS = 300_000;

  private final Communicator communicator;
  private final RankSteps steps;
  private final Rank rank;

  private RankThread(Communicator communicator, RankSteps steps, Rank rank) {
    this.communicator = communicator;
    this.steps = steps;
    this.rank = rank;
  }

  static void start(Communicator communicator, RankSteps steps, Rank rank, String name) {
    Thread thread = new Thread(new RankThread(communicator, steps, rank)::serve, name);
    thread.setDaemon(true);
    thread.start();
  }

  private void serve() {
    if (steps.isLate(BEGIN_MILLIS)) {
      communicator.fail(
          NcclResult.SYSTEM_ERROR,
          "not all ranks came within "
              + BEGIN_MILLIS / 1000
              + " s; is one of them on another pool,"
              + " or of another tenant?");
    }
    for (Step step = steps.next(); step != null; step = steps.next()) {
      carryOut(step);
    }
    communicator.leave();
  }

  private void carryOut(Step step) {
    boolean isDone = false;
    try {
      step.run(rank);
      isDone = true;
    } catch (ChannelException e) {
      communicator.fail(NcclResult.REMOTE_ERROR, String.valueOf(e.getMessage()));
    } catch (StreamFailedException e) {
      communicator.fail(NcclResult.UNHANDLED_CUDA_ERROR, String.valueOf(e.getMessage()));
    }
    communicator.over(step, isDone);
  }
}
