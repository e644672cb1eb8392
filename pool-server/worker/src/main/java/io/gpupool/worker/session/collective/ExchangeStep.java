// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.collective;

import io.gpupool.worker.collective.ChannelException;
import io.gpupool.worker.collective.Rank;

/** An exchange among the ranks that is no call of a stream. The rank's thread carries it out. */
final class ExchangeStep implements Step {
  private final Exchange exchange;
  private final Runnable failed;
  private boolean isDone;

  /** What is exchanged. */
  interface Exchange {
    void run(Rank rank) throws ChannelException;
  }

  /**
   * Of an exchange.
   *
   * @param failed told if it is not carried out
   */
  ExchangeStep(Exchange exchange, Runnable failed) {
    this.exchange = exchange;
    this.failed = failed;
  }

  @Override
  public void run(Rank rank) throws ChannelException {
    exchange.run(rank);
    isDone = true;
  }

  @Override
  public void over() {
    if (!isDone) {
      failed.run();
    }
  }
}
