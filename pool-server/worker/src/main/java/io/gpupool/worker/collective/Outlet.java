// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

/** The sending end of a channel to another rank, a stream of bytes. One thread sends at a time. */
public interface Outlet {
  /**
   * Hands over bytes without waiting until they are taken. They must stay as they are until then.
   */
  void send(long address, long lengthBytes) throws ChannelException;

  /** Returns how many bytes were handed over since the channel exists. */
  long givenBytes();

  /**
   * Waits until the first so many bytes that were handed over are taken. If it throws, nobody reads
   * any of those any more that were not taken.
   */
  void awaitTaken(long firstBytes) throws ChannelException;

  /** Waits until all bytes handed over are taken. */
  default void flush() throws ChannelException {
    awaitTaken(givenBytes());
  }

  /** Ends the channel from any thread; whoever waits on it, or will, fails. */
  void close();
}
