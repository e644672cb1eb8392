// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

/** The receiving end of a channel from another rank. One thread receives at a time. */
public interface Inlet {
  /**
   * Waits for the next bytes and returns where they lie until {@link #release}.
   *
   * @param lengthBytes at most {@link Segments#BYTES}
   */
  long next(long lengthBytes) throws ChannelException;

  /** Gives back what {@link #next} returned. */
  void release();

  /** Waits for the next bytes and puts them into place. */
  void receive(long target, long lengthBytes) throws ChannelException;

  /** Returns whether the rank's {@link PendingSends} go on while its thread waits here. */
  boolean sendsPending();

  /** Ends the channel from any thread; whoever waits on it, or will, fails. */
  void close();
}
