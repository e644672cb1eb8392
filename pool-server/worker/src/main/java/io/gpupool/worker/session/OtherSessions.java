// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.worker.peer.PeerConnections;
import io.gpupool.worker.session.collective.RankDirectory;
import io.gpupool.worker.session.exchange.Exchange;

/**
 * The ways from a session to others.
 *
 * @param exchange with the lease's other sessions
 * @param peers connections to the program's sessions on other servers
 * @param ranks where the ranks of communicators find each other
 */
public record OtherSessions(Exchange exchange, PeerConnections peers, RankDirectory ranks) {
  /** Returns the ways of a session by itself. */
  public static OtherSessions none() {
    return over(PeerConnections.none());
  }

  /** Returns those of a session that reaches its program's other sessions alone. */
  public static OtherSessions over(PeerConnections peers) {
    return new OtherSessions(Exchange.NONE, peers, RankDirectory.NONE);
  }
}
