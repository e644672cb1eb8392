// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.attach;

import io.gpupool.agent.lease.PoolClients;
import io.gpupool.agent.lease.PoolIdentity;
import io.gpupool.client.PoolClient;
import io.gpupool.client.RedirectException;
import io.gpupool.client.ResumedSession;
import io.gpupool.client.SessionHandle;
import io.gpupool.client.StreamAbilities;
import io.gpupool.client.SuspendedException;
import io.gpupool.client.SuspendedWait;
import io.gpupool.client.connection.PoolAddress;
import io.gpupool.client.connection.PoolRequestException;
import io.gpupool.control.v1.Holder;
import io.netty.channel.EventLoop;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * A question to the pool for one more connection of a session, which also tells whether the session
 * is there and the program's, and which server has it. Runs on the program's event loop.
 */
final class ResumeCall {
  /** From the server that is asked to the one that is named, and to where the session has moved. */
  private static final int MAX_REDIRECTS = 4;

  private final PoolIdentity identity;
  private final Holder holder;
  private final PoolClients clients;
  private final EventLoop loop;
  private final List<PoolClient> taken = new ArrayList<>();
  private final StreamAbilities abilities;
  private int redirects;
  private boolean left;

  /**
   * Asks for nothing yet.
   *
   * @param abilities of the program on the connection
   */
  ResumeCall(
      PoolIdentity identity,
      Holder holder,
      PoolClients clients,
      EventLoop loop,
      StreamAbilities abilities) {
    this.abilities = abilities;
    this.identity = identity;
    this.holder = holder;
    this.clients = clients;
    this.loop = loop;
  }

  /**
   * Asks whichever server the program's pool is, and the one that it names.
   *
   * @param server of the lease that has the session; empty: whichever is asked
   * @param wait for a session that is suspended, of which a {@link SuspendedException} tells
   */
  CompletableFuture<ResumedSession> ask(SessionHandle session, String server, SuspendedWait wait) {
    redirects = 0;
    return askAt(identity.pool(), session, server, wait)
        .exceptionallyComposeAsync(failure -> askElsewhere(failure, session, server, wait), loop);
  }

  private CompletableFuture<ResumedSession> askAt(
      PoolAddress address, SessionHandle session, String server, SuspendedWait wait) {
    PoolClient pool = clients.take(address, identity.credentials());
    if (taken.contains(pool)) {
      clients.giveBack(pool);
    }
    // The one that was asked last is the last.
    taken.remove(pool);
    taken.add(pool);
    return pool.resumeSession(session, server, holder, abilities, wait);
  }

  private CompletableFuture<ResumedSession> askElsewhere(
      Throwable failure, SessionHandle session, String server, SuspendedWait wait) {
    if (!(PoolRequestException.inner(failure) instanceof RedirectException other) || left) {
      return CompletableFuture.failedFuture(failure);
    }
    if (++redirects > MAX_REDIRECTS) {
      // The servers do not all know yet where it is.
      return CompletableFuture.failedFuture(
          new PoolRequestException(
              PoolRequestException.Cause.UNREACHABLE,
              "the servers of the pool send each other for the session; try again"));
    }
    PoolAddress address = PoolAddress.parse(other.address());
    return askAt(
            taken.getFirst().address().tls() ? address.overTls() : address, session, server, wait)
        .exceptionallyComposeAsync(again -> askElsewhere(again, session, server, wait), loop);
  }

  /** The connection to the server that was asked last. */
  PoolClient pool() {
    return taken.getLast();
  }

  /** Asks no other server any more. */
  void leave() {
    left = true;
  }

  /** Gives the connections back; nothing may be called after that. */
  void forget() {
    taken.forEach(clients::giveBack);
    taken.clear();
  }
}
