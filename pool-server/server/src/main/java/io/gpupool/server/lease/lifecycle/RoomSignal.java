// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.lifecycle;

/**
 * A signal that room may have become free. It keeps the leases, which give it, from knowing the
 * queue, which waits for it. Owned by the control thread.
 */
public final class RoomSignal {
  private Runnable listener = () -> {};

  /** Has an action run whenever something of a GPU may be free that was not. */
  public void whenFreed(Runnable action) {
    listener = action;
  }

  public void announce() {
    listener.run();
  }
}
