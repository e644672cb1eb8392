// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

/** The channels of one rank to and from the others. */
public interface Channels {
  /** Returns the channel to a rank, always the same; may wait until it exists. */
  Outlet to(int rank) throws ChannelException;

  /** Returns the channel from a rank, always the same; may wait until it exists. */
  Inlet from(int rank) throws ChannelException;

  /** Returns what sockets of this rank have yet to take. */
  PendingSends pending();

  /**
   * Ends all channels of this rank from any thread, those that do not exist yet, too; whoever waits
   * on one, or will, fails.
   */
  void close();
}
