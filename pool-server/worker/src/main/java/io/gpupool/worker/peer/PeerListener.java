// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.peer;

/**
 * A receiver of what other workers send. Called by the thread that reads a connection; must not
 * wait.
 */
public interface PeerListener {
  /** Handles a ticket, which says that the work before it is complete. */
  void ticketCame(int link, long ticket) throws PeerException;

  /** The other worker wants the bytes that it was allowed to read with this ticket. */
  void pullCame(int link, long ticket, long lengthBytes) throws PeerException;

  /**
   * A piece of what was asked for is about to be received.
   *
   * @return where to, in memory of this process
   */
  long place(int link, long ticket, long offset, int lengthBytes) throws PeerException;

  /** That piece is there. */
  void placed(int link, long ticket, long offset, int lengthBytes);

  /** All of what was asked for has come, or as much as could be read; {@code result}: CUresult. */
  void pullEnded(int link, long ticket, int result) throws PeerException;

  /**
   * The connection is no more, or never was.
   *
   * @param malformed because the other worker sent what it must not
   */
  void lost(int link, String why, boolean malformed);
}
