// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.collective;

import org.jspecify.annotations.Nullable;

/** A directory of no pool. */
final class NoDirectory implements RankDirectory {
  @Override
  public void join(RankName name, int ranks, byte @Nullable [] uniqueId, Listener listener) {
    listener.refused("the session has no pool whose ranks could be together");
  }

  @Override
  public void leave(RankName name, boolean lost) {}

  @Override
  public void connect(RankName name, int to) {}
}
