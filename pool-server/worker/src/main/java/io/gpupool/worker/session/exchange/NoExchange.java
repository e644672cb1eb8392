// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.exchange;

import io.gpupool.cuda.CudaResult;
import java.util.List;

/** An exchange that refuses every request. */
final class NoExchange implements Exchange {
  @Override
  public Token offer(Offer offer) throws NotSharedException {
    throw refusal();
  }

  @Override
  public Taken take(Token token, Kind kind) throws NotSharedException {
    throw refusal();
  }

  @Override
  public void giveBack(Token token) {}

  @Override
  public boolean withdraw(Token token) {
    return true;
  }

  @Override
  public List<Token> released() {
    return List.of();
  }

  private static NotSharedException refusal() {
    return new NotSharedException(CudaResult.NOT_SUPPORTED, "the session has no others beside it");
  }
}
